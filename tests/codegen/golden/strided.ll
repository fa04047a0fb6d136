; a golden module


declare i64 @llvm.smax.i64(i64, i64)
declare i32 @llvm.ssub.sat.i32(i32, i32)

define internal void @weft_task0(ptr noalias %ctx, ptr noalias %box, i64 %begin, i64 %end) noinline nounwind "reciprocal-estimates"="none" {
entry:
  %s16 = alloca i32, align 8
  br label %start
start:
  %v1 = getelementptr inbounds i8, ptr %box, i64 8
  %v2 = load i64, ptr %v1, align 8, !invariant.load !{}
  %v3 = getelementptr inbounds i8, ptr %ctx, i64 32
  %v4 = load ptr, ptr %v3, align 8, !invariant.load !{}
  %v5 = getelementptr inbounds i8, ptr %ctx, i64 24
  %v6 = load i32, ptr %v5, align 8, !invariant.load !{}
  %v7 = add nsw i64 0, %begin
  %v8 = add nsw i64 0, %end
  br label %head9
head9:
  %i13 = phi i64 [ %v7, %start ], [ %n14, %latch11 ]
  %v15 = icmp slt i64 %i13, %v8
  br i1 %v15, label %body10, label %done12
body10:
  store i32 0, ptr %s16, align 4
  %v23 = call i32 @llvm.ssub.sat.i32(i32 %v6, i32 2)
  %v24 = icmp slt i32 0, %v6
  br i1 %v24, label %enter17, label %done20
enter17:
  br label %body18
body18:
  %i21 = phi i32 [ 0, %enter17 ], [ %n22, %latch19 ]
  %v25 = mul i32 %i21, %i21
  %v26 = load i32, ptr %s16, align 4
  %v27 = add i32 %v26, %v25
  store i32 %v27, ptr %s16, align 4
  br label %latch19
latch19:
  %n22 = add nsw i32 %i21, 2
  %v28 = icmp slt i32 %i21, %v23
  br i1 %v28, label %body18, label %done20
done20:
  %v29 = load i32, ptr %s16, align 4
  %v30 = mul nsw i64 %i13, 4
  %v31 = getelementptr inbounds i8, ptr %v4, i64 %v30
  store i32 %v29, ptr %v31, align 4, !alias.scope !5, !noalias !6, !llvm.access.group !0
  br label %latch11
latch11:
  %n14 = add nsw i64 %i13, 1
  br label %head9, !llvm.loop !2
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
  %v8 = mul nsw i64 1, 103
  %v9 = call i64 @llvm.smax.i64(i64 %v8, i64 1)
  %v10 = udiv i64 40000, %v9
  %v11 = add i64 %v10, 1
  %v12 = icmp sle i64 %v7, %v11
  br i1 %v12, label %here13, label %shared14
here13:
  call void @weft_task0(ptr %ctx, ptr %s3, i64 0, i64 %v7)
  br label %done15
shared14:
  %v16 = getelementptr inbounds i8, ptr %ctx, i64 0
  %v17 = load ptr, ptr %v16, align 8, !invariant.load !{}
  %v18 = getelementptr inbounds i8, ptr %v17, i64 16
  %v19 = load i64, ptr %v18, align 8, !invariant.load !{}
  %v20 = getelementptr inbounds i8, ptr %ctx, i64 0
  %v21 = load ptr, ptr %v20, align 8, !invariant.load !{}
  %v22 = getelementptr inbounds i8, ptr %v21, i64 0
  %v23 = load ptr, ptr %v22, align 8, !invariant.load !{}
  call void %v23(i64 %v19, ptr @weft_task0, ptr %ctx, ptr %s3, i64 %v7, i64 %v11)
  br label %done15
done15:
  br label %exit
exit:
  ret void
}

!0 = distinct !{}
!1 = !{!"llvm.loop.parallel_accesses", !0}
!2 = distinct !{!2, !1}
!3 = distinct !{!"fields"}
!4 = distinct !{!"array:1", !3}
!5 = !{!4}
!6 = !{}
