; a golden module


declare i64 @llvm.smax.i64(i64, i64)

define internal void @weft_task0(ptr noalias %ctx, ptr noalias %box, i64 %begin, i64 %end) noinline nounwind "reciprocal-estimates"="none" {
entry:
  %record.at = getelementptr inbounds i8, ptr %ctx, i64 8
  %record = load ptr, ptr %record.at, align 8, !invariant.load !{}
  br label %start
start:
  %v1 = getelementptr inbounds i8, ptr %ctx, i64 24
  %v2 = load ptr, ptr %v1, align 8, !invariant.load !{}
  %v3 = getelementptr inbounds i8, ptr %ctx, i64 32
  %v4 = load ptr, ptr %v3, align 8, !invariant.load !{}
  br label %head6
head6:
  %i11 = phi i64 [ %begin, %start ], [ %n12, %latch8 ]
  %v13 = icmp slt i64 %i11, %end
  br i1 %v13, label %body7, label %done9
body7:
  %v14 = add nsw i64 1, %i11
  br label %head15
head15:
  %i19 = phi i64 [ 1, %body7 ], [ %n20, %latch17 ]
  %v21 = icmp slt i64 %i19, 63
  br i1 %v21, label %body16, label %done18
body16:
  %v22 = mul nsw i64 %v14, 256
  %v23 = mul nsw i64 %i19, 4
  %v24 = getelementptr inbounds i8, ptr %v2, i64 %v22
  %v25 = getelementptr inbounds i8, ptr %v24, i64 %v23
  %v26 = getelementptr inbounds i8, ptr %v25, i64 -256
  %v27 = load float, ptr %v26, align 4, !alias.scope !10, !noalias !11, !llvm.access.group !0
  %v28 = mul nsw i64 %v14, 256
  %v29 = mul nsw i64 %i19, 4
  %v30 = getelementptr inbounds i8, ptr %v2, i64 %v28
  %v31 = getelementptr inbounds i8, ptr %v30, i64 %v29
  %v32 = getelementptr inbounds i8, ptr %v31, i64 256
  %v33 = load float, ptr %v32, align 4, !alias.scope !10, !noalias !11, !llvm.access.group !0
  %v34 = fadd reassoc arcp contract afn float %v27, %v33
  %v35 = mul nsw i64 %v14, 256
  %v36 = mul nsw i64 %i19, 4
  %v37 = getelementptr inbounds i8, ptr %v2, i64 %v35
  %v38 = getelementptr inbounds i8, ptr %v37, i64 %v36
  %v39 = getelementptr inbounds i8, ptr %v38, i64 -4
  %v40 = load float, ptr %v39, align 4, !alias.scope !10, !noalias !11, !llvm.access.group !0
  %v41 = fadd reassoc arcp contract afn float %v34, %v40
  %v42 = mul nsw i64 %v14, 256
  %v43 = mul nsw i64 %i19, 4
  %v44 = getelementptr inbounds i8, ptr %v2, i64 %v42
  %v45 = getelementptr inbounds i8, ptr %v44, i64 %v43
  %v46 = getelementptr inbounds i8, ptr %v45, i64 4
  %v47 = load float, ptr %v46, align 4, !alias.scope !10, !noalias !11, !llvm.access.group !0
  %v48 = fadd reassoc arcp contract afn float %v41, %v47
  %v49 = fmul reassoc arcp contract afn float %v48, 0x3FD0000000000000
  %v50 = mul nsw i64 %v14, 256
  %v51 = mul nsw i64 %i19, 4
  %v52 = getelementptr inbounds i8, ptr %v4, i64 %v50
  %v53 = getelementptr inbounds i8, ptr %v52, i64 %v51
  store float %v49, ptr %v53, align 4, !alias.scope !12, !noalias !13, !llvm.access.group !0
  br label %latch17
latch17:
  %n20 = add nsw i64 %i19, 1
  br label %head15, !llvm.loop !4
done18:
  br label %check10
check10:
  %v56 = load atomic i64, ptr %record monotonic, align 8, !alias.scope !14, !noalias !15
  %v57 = icmp eq i64 %v56, 0
  br i1 %v57, label %on55, label %ask54, !prof !5
ask54:
  %v58 = getelementptr inbounds i8, ptr %ctx, i64 0
  %v59 = load ptr, ptr %v58, align 8, !invariant.load !{}
  %v60 = getelementptr inbounds i8, ptr %v59, i64 56
  %v61 = load ptr, ptr %v60, align 8, !invariant.load !{}
  %v62 = call preserve_allcc zeroext i1 %v61(ptr %record) nounwind willreturn cold memory(inaccessiblemem: readwrite)
  br i1 %v62, label %exit, label %on55
on55:
  br label %latch8
latch8:
  %n12 = add nsw i64 %i11, 1
  br label %head6, !llvm.loop !2
done9:
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
!5 = !{!"branch_weights", i32 1000000, i32 1}
!6 = distinct !{!"fields"}
!7 = distinct !{!"field:x", !6}
!8 = distinct !{!"field:y", !6}
!9 = distinct !{!"record", !6}
!10 = !{!7}
!11 = !{!8, !9}
!12 = !{!8}
!13 = !{!7, !9}
!14 = !{!9}
!15 = !{!7, !8}
