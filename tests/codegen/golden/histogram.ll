; a golden module


declare i64 @llvm.smax.i64(i64, i64)
declare i64 @llvm.smin.i64(i64, i64)

define internal void @weft_task0(ptr noalias %ctx, ptr noalias %box, i64 %begin, i64 %end) noinline nounwind "reciprocal-estimates"="none" {
entry:
  %record.at = getelementptr inbounds i8, ptr %ctx, i64 8
  %record = load ptr, ptr %record.at, align 8, !invariant.load !{}
  br label %start
start:
  %v1 = getelementptr inbounds i8, ptr %box, i64 8
  %v2 = load i64, ptr %v1, align 8, !invariant.load !{}
  %v3 = getelementptr inbounds i8, ptr %box, i64 24
  %v4 = load ptr, ptr %v3, align 8, !invariant.load !{}
  %v5 = getelementptr inbounds i8, ptr %ctx, i64 32
  %v6 = load ptr, ptr %v5, align 8, !invariant.load !{}
  %v7 = getelementptr inbounds i8, ptr %ctx, i64 24
  %v8 = load ptr, ptr %v7, align 8, !invariant.load !{}
  %v9 = add nsw i64 0, %begin
  %v10 = add nsw i64 0, %end
  br label %stretch11
stretch11:
  %p15 = phi i64 [ %v9, %start ], [ %q16, %done32 ]
  %v17 = sub i64 %v10, %p15
  %v18 = icmp sgt i64 %v17, 38400
  br i1 %v18, label %more12, label %inside13, !prof !1
more12:
  %v21 = load atomic i64, ptr %record monotonic, align 8, !alias.scope !14, !noalias !15
  %v22 = icmp eq i64 %v21, 0
  br i1 %v22, label %on20, label %ask19, !prof !2
ask19:
  %v23 = getelementptr inbounds i8, ptr %ctx, i64 0
  %v24 = load ptr, ptr %v23, align 8, !invariant.load !{}
  %v25 = getelementptr inbounds i8, ptr %v24, i64 56
  %v26 = load ptr, ptr %v25, align 8, !invariant.load !{}
  %v27 = call preserve_allcc zeroext i1 %v26(ptr %record) nounwind willreturn cold memory(inaccessiblemem: readwrite)
  br i1 %v27, label %exit, label %on20
on20:
  %v28 = add i64 %p15, 38400
  br label %inside13
inside13:
  %q16 = phi i64 [ %v10, %stretch11 ], [ %v28, %on20 ]
  br label %head29
head29:
  %i33 = phi i64 [ %p15, %inside13 ], [ %n34, %latch31 ]
  %v35 = icmp slt i64 %i33, %q16
  br i1 %v35, label %body30, label %done32
body30:
  %v36 = mul nsw i64 %i33, 4
  %v37 = getelementptr inbounds i8, ptr %v6, i64 %v36
  %v38 = load i32, ptr %v37, align 4, !alias.scope !16, !noalias !17, !llvm.access.group !0
  %v39 = and i32 %v38, 15
  %v40 = sext i32 %v39 to i64
  %v41 = mul nsw i64 %v40, 4
  %v42 = getelementptr inbounds i8, ptr %v4, i64 %v41
  %v43 = load i32, ptr %v42, align 4, !alias.scope !18, !noalias !19
  %v44 = add i32 %v43, 1
  store i32 %v44, ptr %v42, align 4, !alias.scope !18, !noalias !19
  br label %latch31
latch31:
  %n34 = add nsw i64 %i33, 1
  br label %head29, !llvm.loop !4
done32:
  %v45 = icmp slt i64 %q16, %v10
  br i1 %v45, label %stretch11, label %done14, !prof !1
done14:
  br label %exit
exit:
  ret void
}

define internal void @weft_task0_private(ptr noalias %ctx, ptr %box, i64 %begin, i64 %end) noinline nounwind "reciprocal-estimates"="none" {
entry:
  %s1 = alloca [4 x i64], align 8
  br label %start
start:
  %v2 = getelementptr inbounds i8, ptr %box, i64 0
  %v3 = load i64, ptr %v2, align 8
  %v4 = getelementptr inbounds i8, ptr %s1, i64 0
  store i64 %v3, ptr %v4, align 8
  %v5 = getelementptr inbounds i8, ptr %box, i64 8
  %v6 = load i64, ptr %v5, align 8
  %v7 = getelementptr inbounds i8, ptr %s1, i64 8
  store i64 %v6, ptr %v7, align 8
  %v8 = getelementptr inbounds i8, ptr %box, i64 16
  %v9 = load ptr, ptr %v8, align 8
  %v10 = getelementptr inbounds i8, ptr %ctx, i64 0
  %v11 = load ptr, ptr %v10, align 8, !invariant.load !{}
  %v12 = getelementptr inbounds i8, ptr %v11, i64 32
  %v13 = load i64, ptr %v12, align 8, !invariant.load !{}
  br label %attempt14
attempt14:
  %copy16 = phi i64 [ 0, %start ], [ %next17, %attempt14 ]
  %next17 = add i64 %copy16, 1
  %v18 = getelementptr inbounds i64, ptr %v9, i64 %copy16
  %v19 = atomicrmw xchg ptr %v18, i64 2 acquire
  %v20 = icmp eq i64 %v19, 2
  br i1 %v20, label %attempt14, label %taken15
taken15:
  %v21 = add i64 %v13, 7
  %v22 = lshr i64 %v21, 3
  %v23 = shl i64 %v22, 6
  %v24 = mul i64 %copy16, 192
  %v25 = add i64 %v23, %v24
  %v26 = add i64 %v25, 64
  %v27 = getelementptr inbounds i8, ptr %v9, i64 %v26
  %v30 = icmp eq i64 %v19, 0
  br i1 %v30, label %fill28, label %filled29
fill28:
  br label %head31
head31:
  %i35 = phi i64 [ 0, %fill28 ], [ %n36, %latch33 ]
  %v37 = icmp slt i64 %i35, 1
  br i1 %v37, label %body32, label %done34
body32:
  %v38 = getelementptr inbounds [64 x i8], ptr %v27, i64 %i35
  store <16 x i32> splat (i32 0), ptr %v38, align 64
  br label %latch33
latch33:
  %n36 = add nsw i64 %i35, 1
  br label %head31, !llvm.loop !6
done34:
  br label %filled29
filled29:
  %v39 = getelementptr i8, ptr %v27, i64 0
  %v40 = getelementptr inbounds i8, ptr %s1, i64 24
  store ptr %v39, ptr %v40, align 8
  call void @weft_task0(ptr %ctx, ptr %s1, i64 %begin, i64 %end)
  %v41 = getelementptr inbounds i64, ptr %v9, i64 %copy16
  store atomic i64 1, ptr %v41 release, align 8
  br label %exit
exit:
  ret void
}

define internal void @weft_task0_merge0(ptr noalias %ctx, ptr %box, i64 %begin, i64 %end) noinline nounwind "reciprocal-estimates"="none" {
entry:
  br label %start
start:
  %v1 = getelementptr inbounds i8, ptr %box, i64 16
  %v2 = load ptr, ptr %v1, align 8
  %v3 = getelementptr inbounds i8, ptr %ctx, i64 0
  %v4 = load ptr, ptr %v3, align 8, !invariant.load !{}
  %v5 = getelementptr inbounds i8, ptr %v4, i64 32
  %v6 = load i64, ptr %v5, align 8, !invariant.load !{}
  %v7 = getelementptr inbounds i8, ptr %ctx, i64 24
  %v8 = load ptr, ptr %v7, align 8, !invariant.load !{}
  %v9 = getelementptr inbounds i8, ptr %v8, i64 0
  br label %head10
head10:
  %i14 = phi i64 [ 0, %start ], [ %n15, %latch12 ]
  %v16 = icmp slt i64 %i14, %v6
  br i1 %v16, label %body11, label %done13
body11:
  %v19 = getelementptr inbounds i64, ptr %v2, i64 %i14
  %v20 = load atomic i64, ptr %v19 acquire, align 8
  %v21 = icmp ne i64 %v20, 0
  br i1 %v21, label %add17, label %after18
add17:
  %v22 = add i64 %v6, 7
  %v23 = lshr i64 %v22, 3
  %v24 = shl i64 %v23, 6
  %v25 = mul i64 %i14, 192
  %v26 = add i64 %v24, %v25
  %v27 = add i64 %v26, 64
  %v28 = getelementptr inbounds i8, ptr %v2, i64 %v27
  br label %head29
head29:
  %i33 = phi i64 [ %begin, %add17 ], [ %n34, %latch31 ]
  %v35 = icmp slt i64 %i33, %end
  br i1 %v35, label %body30, label %done32
body30:
  %v36 = getelementptr inbounds [64 x i8], ptr %v28, i64 %i33
  %v37 = getelementptr inbounds [64 x i8], ptr %v9, i64 %i33
  %v38 = load <16 x i32>, ptr %v36, align 64
  %v39 = load <16 x i32>, ptr %v37, align 4
  %v40 = add <16 x i32> %v39, %v38
  store <16 x i32> %v40, ptr %v37, align 4
  br label %latch31
latch31:
  %n34 = add nsw i64 %i33, 1
  br label %head29, !llvm.loop !8
done32:
  br label %after18
after18:
  br label %latch12
latch12:
  %n15 = add nsw i64 %i14, 1
  br label %head10, !llvm.loop !7
done13:
  br label %exit
exit:
  ret void
}

define void @weft_entry(ptr noalias %ctx) nounwind "reciprocal-estimates"="none" {
entry:
  %s3 = alloca [4 x i64], align 8
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
  %v8 = getelementptr inbounds i8, ptr %ctx, i64 0
  %v9 = load ptr, ptr %v8, align 8, !invariant.load !{}
  %v10 = getelementptr inbounds i8, ptr %v9, i64 32
  %v11 = load i64, ptr %v10, align 8, !invariant.load !{}
  %v12 = mul i64 %v7, 1
  %v13 = mul i64 %v12, 16
  %v14 = sub i64 %v11, 1
  %v15 = mul i64 %v13, %v14
  %v16 = mul i64 %v11, 32
  %v17 = icmp sgt i64 %v15, %v16
  %v21 = getelementptr inbounds i8, ptr %ctx, i64 24
  %v22 = load ptr, ptr %v21, align 8, !invariant.load !{}
  %v23 = getelementptr inbounds i8, ptr %s3, i64 24
  store ptr %v22, ptr %v23, align 8
  br i1 %v17, label %shared19, label %here18
shared19:
  %v24 = getelementptr inbounds i8, ptr %ctx, i64 0
  %v25 = load ptr, ptr %v24, align 8, !invariant.load !{}
  %v26 = getelementptr inbounds i8, ptr %v25, i64 32
  %v27 = load i64, ptr %v26, align 8, !invariant.load !{}
  %v28 = getelementptr inbounds i8, ptr %ctx, i64 0
  %v29 = load ptr, ptr %v28, align 8, !invariant.load !{}
  %v30 = getelementptr inbounds i8, ptr %v29, i64 16
  %v31 = load i64, ptr %v30, align 8, !invariant.load !{}
  %v32 = add i64 %v27, 7
  %v33 = lshr i64 %v32, 3
  %v34 = shl i64 %v33, 6
  %v35 = mul i64 %v27, 192
  %v36 = add i64 %v34, %v35
  %v37 = getelementptr inbounds i8, ptr %ctx, i64 0
  %v38 = load ptr, ptr %v37, align 8, !invariant.load !{}
  %v39 = getelementptr inbounds i8, ptr %v38, i64 40
  %v40 = load ptr, ptr %v39, align 8, !invariant.load !{}
  %v41 = call ptr %v40(i64 %v31, i64 %v36)
  %v44 = icmp ne ptr %v41, null
  br i1 %v44, label %ready42, label %done43
ready42:
  br label %head45
head45:
  %i49 = phi i64 [ 0, %ready42 ], [ %n50, %latch47 ]
  %v51 = icmp slt i64 %i49, %v27
  br i1 %v51, label %body46, label %done48
body46:
  %v52 = getelementptr inbounds i64, ptr %v41, i64 %i49
  store atomic i64 0, ptr %v52 monotonic, align 8
  br label %latch47
latch47:
  %n50 = add nsw i64 %i49, 1
  br label %head45, !llvm.loop !9
done48:
  %v53 = getelementptr inbounds i8, ptr %s3, i64 16
  store ptr %v41, ptr %v53, align 8
  %v54 = mul i64 %v27, 4
  %v55 = udiv i64 %v7, %v54
  %v56 = add i64 %v55, 1
  %v57 = getelementptr inbounds i8, ptr %ctx, i64 0
  %v58 = load ptr, ptr %v57, align 8, !invariant.load !{}
  %v59 = getelementptr inbounds i8, ptr %v58, i64 0
  %v60 = load ptr, ptr %v59, align 8, !invariant.load !{}
  call void %v60(i64 %v31, ptr @weft_task0_private, ptr %ctx, ptr %s3, i64 %v7, i64 %v56)
  call void %v60(i64 %v31, ptr @weft_task0_merge0, ptr %ctx, ptr %s3, i64 1, i64 512)
  br label %done43
done43:
  br i1 %v44, label %done20, label %here18
here18:
  call void @weft_task0(ptr %ctx, ptr %s3, i64 0, i64 %v7)
  br label %done20
done20:
  br label %exit
exit:
  ret void
}

!0 = distinct !{}
!1 = !{!"branch_weights", i32 1, i32 1000000}
!2 = !{!"branch_weights", i32 1000000, i32 1}
!3 = !{!"llvm.loop.parallel_accesses", !0}
!4 = distinct !{!4, !3}
!5 = !{!"llvm.loop.unroll.disable"}
!6 = distinct !{!6, !5}
!7 = distinct !{!7, !5}
!8 = distinct !{!8, !5}
!9 = distinct !{!9, !5}
!10 = distinct !{!"fields"}
!11 = distinct !{!"record", !10}
!12 = distinct !{!"array:0", !10}
!13 = distinct !{!"field:h", !10}
!14 = !{!11}
!15 = !{!12, !13}
!16 = !{!12}
!17 = !{!11, !13}
!18 = !{!13}
!19 = !{!11, !12}
