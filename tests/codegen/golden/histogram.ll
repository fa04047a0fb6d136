; a golden module


declare i64 @llvm.smax.i64(i64, i64)

define internal void @weft_task0(ptr noalias %ctx, ptr noalias %box, i64 %begin, i64 %end) noinline nounwind "reciprocal-estimates"="none" {
entry:
  br label %start
start:
  %v1 = getelementptr inbounds i8, ptr %box, i64 8
  %v2 = load i64, ptr %v1, align 8, !invariant.load !{}
  %v3 = getelementptr inbounds i8, ptr %ctx, i64 32
  %v4 = load ptr, ptr %v3, align 8, !invariant.load !{}
  %v5 = getelementptr inbounds i8, ptr %ctx, i64 24
  %v6 = load ptr, ptr %v5, align 8, !invariant.load !{}
  %v7 = add nsw i64 0, %begin
  %v8 = add nsw i64 0, %end
  br label %head9
head9:
  %i13 = phi i64 [ %v7, %start ], [ %n14, %latch11 ]
  %v15 = icmp slt i64 %i13, %v8
  br i1 %v15, label %body10, label %done12
body10:
  %v16 = mul nsw i64 %i13, 4
  %v17 = getelementptr inbounds i8, ptr %v4, i64 %v16
  %v18 = load i32, ptr %v17, align 4, !alias.scope !9, !noalias !10, !llvm.access.group !0
  %v19 = and i32 %v18, 15
  %v20 = sext i32 %v19 to i64
  %v21 = mul nsw i64 %v20, 4
  %v22 = getelementptr inbounds i8, ptr %v6, i64 %v21
  %v23 = atomicrmw add ptr %v22, i32 1 monotonic
  br label %latch11
latch11:
  %n14 = add nsw i64 %i13, 1
  br label %head9, !llvm.loop !2
done12:
  br label %exit
exit:
  ret void
}

define internal void @weft_task0_plain(ptr noalias %ctx, ptr noalias %box, i64 %begin, i64 %end) noinline nounwind "reciprocal-estimates"="none" {
entry:
  br label %start
start:
  %v1 = getelementptr inbounds i8, ptr %box, i64 8
  %v2 = load i64, ptr %v1, align 8, !invariant.load !{}
  %v3 = getelementptr inbounds i8, ptr %ctx, i64 32
  %v4 = load ptr, ptr %v3, align 8, !invariant.load !{}
  %v5 = getelementptr inbounds i8, ptr %ctx, i64 24
  %v6 = load ptr, ptr %v5, align 8, !invariant.load !{}
  %v7 = add nsw i64 0, %begin
  %v8 = add nsw i64 0, %end
  br label %head9
head9:
  %i13 = phi i64 [ %v7, %start ], [ %n14, %latch11 ]
  %v15 = icmp slt i64 %i13, %v8
  br i1 %v15, label %body10, label %done12
body10:
  %v16 = mul nsw i64 %i13, 4
  %v17 = getelementptr inbounds i8, ptr %v4, i64 %v16
  %v18 = load i32, ptr %v17, align 4, !alias.scope !9, !noalias !10, !llvm.access.group !3
  %v19 = and i32 %v18, 15
  %v20 = sext i32 %v19 to i64
  %v21 = mul nsw i64 %v20, 4
  %v22 = getelementptr inbounds i8, ptr %v6, i64 %v21
  %v23 = load i32, ptr %v22, align 4, !alias.scope !11, !noalias !12
  %v24 = add i32 %v23, 1
  store i32 %v24, ptr %v22, align 4, !alias.scope !11, !noalias !12
  br label %latch11
latch11:
  %n14 = add nsw i64 %i13, 1
  br label %head9, !llvm.loop !5
done12:
  br label %exit
exit:
  ret void
}

define void @weft_entry(ptr noalias %ctx) nounwind "reciprocal-estimates"="none" {
entry:
  %s3 = alloca [2 x i64], align 8
  br label %start
start:
  %v1 = getelementptr inbounds i8, ptr %ctx, i64 40
  %v2 = load i64, ptr %v1, align 8, !invariant.load !{}
  %v4 = getelementptr inbounds i8, ptr %s3, i64 0
  store i64 0, ptr %v4, align 8
  %v5 = getelementptr inbounds i8, ptr %s3, i64 8
  store i64 %v2, ptr %v5, align 8
  %v6 = sub nsw i64 %v2, 0
  %v7 = call i64 @llvm.smax.i64(i64 %v6, i64 0)
  %v8 = mul nsw i64 1, 16
  %v9 = call i64 @llvm.smax.i64(i64 %v8, i64 1)
  %v10 = udiv i64 40000, %v9
  %v11 = add i64 %v10, 1
  %v15 = icmp sle i64 %v7, %v11
  %v16 = getelementptr inbounds i8, ptr %ctx, i64 0
  %v17 = load ptr, ptr %v16, align 8, !invariant.load !{}
  %v18 = getelementptr inbounds i8, ptr %v17, i64 24
  %v19 = load i64, ptr %v18, align 8, !invariant.load !{}
  %v20 = icmp ule i64 %v19, 3
  %v21 = or i1 %v15, %v20
  br i1 %v21, label %here12, label %shared13
here12:
  call void @weft_task0_plain(ptr %ctx, ptr %s3, i64 0, i64 %v7)
  br label %done14
shared13:
  %v22 = getelementptr inbounds i8, ptr %ctx, i64 0
  %v23 = load ptr, ptr %v22, align 8, !invariant.load !{}
  %v24 = getelementptr inbounds i8, ptr %v23, i64 16
  %v25 = load i64, ptr %v24, align 8, !invariant.load !{}
  %v26 = getelementptr inbounds i8, ptr %ctx, i64 0
  %v27 = load ptr, ptr %v26, align 8, !invariant.load !{}
  %v28 = getelementptr inbounds i8, ptr %v27, i64 0
  %v29 = load ptr, ptr %v28, align 8, !invariant.load !{}
  call void %v29(i64 %v25, ptr @weft_task0, ptr %ctx, ptr %s3, i64 %v7, i64 %v11)
  br label %done14
done14:
  br label %exit
exit:
  ret void
}

!0 = distinct !{}
!1 = !{!"llvm.loop.parallel_accesses", !0}
!2 = distinct !{!2, !1}
!3 = distinct !{}
!4 = !{!"llvm.loop.parallel_accesses", !3}
!5 = distinct !{!5, !4}
!6 = distinct !{!"fields"}
!7 = distinct !{!"array:0", !6}
!8 = distinct !{!"field:h", !6}
!9 = !{!7}
!10 = !{!8}
!11 = !{!8}
!12 = !{!7}
