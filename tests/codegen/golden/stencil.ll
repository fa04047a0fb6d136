; a golden module


declare i64 @llvm.smax.i64(i64, i64)

define internal void @weft_task0(ptr noalias %ctx, ptr noalias %box, i64 %begin, i64 %end) noinline nounwind "reciprocal-estimates"="none" {
entry:
  br label %start
start:
  %v1 = getelementptr inbounds i8, ptr %ctx, i64 24
  %v2 = load ptr, ptr %v1, align 8, !invariant.load !{}
  %v3 = getelementptr inbounds i8, ptr %ctx, i64 32
  %v4 = load ptr, ptr %v3, align 8, !invariant.load !{}
  br label %head5
head5:
  %i9 = phi i64 [ %begin, %start ], [ %n10, %latch7 ]
  %v11 = icmp slt i64 %i9, %end
  br i1 %v11, label %body6, label %done8
body6:
  %v12 = add nsw i64 1, %i9
  br label %head13
head13:
  %i17 = phi i64 [ 1, %body6 ], [ %n18, %latch15 ]
  %v19 = icmp slt i64 %i17, 63
  br i1 %v19, label %body14, label %done16
body14:
  %v20 = mul nsw i64 %v12, 256
  %v21 = mul nsw i64 %i17, 4
  %v22 = getelementptr inbounds i8, ptr %v2, i64 %v20
  %v23 = getelementptr inbounds i8, ptr %v22, i64 %v21
  %v24 = getelementptr inbounds i8, ptr %v23, i64 -256
  %v25 = load float, ptr %v24, align 4, !alias.scope !8, !noalias !9, !llvm.access.group !0
  %v26 = mul nsw i64 %v12, 256
  %v27 = mul nsw i64 %i17, 4
  %v28 = getelementptr inbounds i8, ptr %v2, i64 %v26
  %v29 = getelementptr inbounds i8, ptr %v28, i64 %v27
  %v30 = getelementptr inbounds i8, ptr %v29, i64 256
  %v31 = load float, ptr %v30, align 4, !alias.scope !8, !noalias !9, !llvm.access.group !0
  %v32 = fadd reassoc arcp contract afn float %v25, %v31
  %v33 = mul nsw i64 %v12, 256
  %v34 = mul nsw i64 %i17, 4
  %v35 = getelementptr inbounds i8, ptr %v2, i64 %v33
  %v36 = getelementptr inbounds i8, ptr %v35, i64 %v34
  %v37 = getelementptr inbounds i8, ptr %v36, i64 -4
  %v38 = load float, ptr %v37, align 4, !alias.scope !8, !noalias !9, !llvm.access.group !0
  %v39 = fadd reassoc arcp contract afn float %v32, %v38
  %v40 = mul nsw i64 %v12, 256
  %v41 = mul nsw i64 %i17, 4
  %v42 = getelementptr inbounds i8, ptr %v2, i64 %v40
  %v43 = getelementptr inbounds i8, ptr %v42, i64 %v41
  %v44 = getelementptr inbounds i8, ptr %v43, i64 4
  %v45 = load float, ptr %v44, align 4, !alias.scope !8, !noalias !9, !llvm.access.group !0
  %v46 = fadd reassoc arcp contract afn float %v39, %v45
  %v47 = fmul reassoc arcp contract afn float %v46, 0x3FD0000000000000
  %v48 = mul nsw i64 %v12, 256
  %v49 = mul nsw i64 %i17, 4
  %v50 = getelementptr inbounds i8, ptr %v4, i64 %v48
  %v51 = getelementptr inbounds i8, ptr %v50, i64 %v49
  store float %v47, ptr %v51, align 4, !alias.scope !10, !noalias !11, !llvm.access.group !0
  br label %latch15
latch15:
  %n18 = add nsw i64 %i17, 1
  br label %head13, !llvm.loop !4
done16:
  br label %latch7
latch7:
  %n10 = add nsw i64 %i9, 1
  br label %head5, !llvm.loop !2
done8:
  br label %exit
exit:
  ret void
}

define void @weft_entry(ptr noalias %ctx) nounwind "reciprocal-estimates"="none" {
entry:
  %s1 = alloca [4 x i64], align 8
  br label %start
start:
  %v2 = getelementptr inbounds i8, ptr %s1, i64 0
  store i64 1, ptr %v2, align 8
  %v3 = getelementptr inbounds i8, ptr %s1, i64 8
  store i64 1, ptr %v3, align 8
  %v4 = getelementptr inbounds i8, ptr %s1, i64 16
  store i64 63, ptr %v4, align 8
  %v5 = getelementptr inbounds i8, ptr %s1, i64 24
  store i64 63, ptr %v5, align 8
  %v6 = sub nsw i64 63, 1
  %v7 = call i64 @llvm.smax.i64(i64 %v6, i64 0)
  %v8 = sub nsw i64 63, 1
  %v9 = call i64 @llvm.smax.i64(i64 %v8, i64 0)
  %v10 = mul nsw i64 %v9, 16
  %v11 = call i64 @llvm.smax.i64(i64 %v10, i64 1)
  %v12 = udiv i64 40000, %v11
  %v13 = add i64 %v12, 1
  %v14 = icmp sle i64 %v7, %v13
  br i1 %v14, label %here15, label %shared16
here15:
  call void @weft_task0(ptr %ctx, ptr %s1, i64 0, i64 %v7)
  br label %done17
shared16:
  %v18 = getelementptr inbounds i8, ptr %ctx, i64 0
  %v19 = load ptr, ptr %v18, align 8, !invariant.load !{}
  %v20 = getelementptr inbounds i8, ptr %v19, i64 16
  %v21 = load i64, ptr %v20, align 8, !invariant.load !{}
  %v22 = getelementptr inbounds i8, ptr %ctx, i64 0
  %v23 = load ptr, ptr %v22, align 8, !invariant.load !{}
  %v24 = getelementptr inbounds i8, ptr %v23, i64 0
  %v25 = load ptr, ptr %v24, align 8, !invariant.load !{}
  call void %v25(i64 %v21, ptr @weft_task0, ptr %ctx, ptr %s1, i64 %v7, i64 %v13)
  br label %done17
done17:
  br label %exit
exit:
  ret void
}

!0 = distinct !{}
!1 = !{!"llvm.loop.unroll.disable"}
!2 = distinct !{!2, !1}
!3 = !{!"llvm.loop.parallel_accesses", !0}
!4 = distinct !{!4, !3}
!5 = distinct !{!"fields"}
!6 = distinct !{!"field:x", !5}
!7 = distinct !{!"field:y", !5}
!8 = !{!6}
!9 = !{!7}
!10 = !{!7}
!11 = !{!6}
