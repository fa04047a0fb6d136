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
  br label %head5
head5:
  %i10 = phi i64 [ %begin, %start ], [ %n11, %latch7 ]
  %v12 = icmp slt i64 %i10, %end
  br i1 %v12, label %body6, label %done8
body6:
  %v13 = add nsw i64 1, %i10
  br label %head14
head14:
  %i18 = phi i64 [ 1, %body6 ], [ %n19, %latch16 ]
  %v20 = icmp slt i64 %i18, 63
  br i1 %v20, label %body15, label %done17
body15:
  %v21 = mul nsw i64 %v13, 256
  %v22 = mul nsw i64 %i18, 4
  %v23 = getelementptr inbounds i8, ptr %v2, i64 %v21
  %v24 = getelementptr inbounds i8, ptr %v23, i64 %v22
  %v25 = getelementptr inbounds i8, ptr %v24, i64 -256
  %v26 = load float, ptr %v25, align 4, !alias.scope !10, !noalias !11, !llvm.access.group !0
  %v27 = mul nsw i64 %v13, 256
  %v28 = mul nsw i64 %i18, 4
  %v29 = getelementptr inbounds i8, ptr %v2, i64 %v27
  %v30 = getelementptr inbounds i8, ptr %v29, i64 %v28
  %v31 = getelementptr inbounds i8, ptr %v30, i64 256
  %v32 = load float, ptr %v31, align 4, !alias.scope !10, !noalias !11, !llvm.access.group !0
  %v33 = fadd reassoc arcp contract afn float %v26, %v32
  %v34 = mul nsw i64 %v13, 256
  %v35 = mul nsw i64 %i18, 4
  %v36 = getelementptr inbounds i8, ptr %v2, i64 %v34
  %v37 = getelementptr inbounds i8, ptr %v36, i64 %v35
  %v38 = getelementptr inbounds i8, ptr %v37, i64 -4
  %v39 = load float, ptr %v38, align 4, !alias.scope !10, !noalias !11, !llvm.access.group !0
  %v40 = fadd reassoc arcp contract afn float %v33, %v39
  %v41 = mul nsw i64 %v13, 256
  %v42 = mul nsw i64 %i18, 4
  %v43 = getelementptr inbounds i8, ptr %v2, i64 %v41
  %v44 = getelementptr inbounds i8, ptr %v43, i64 %v42
  %v45 = getelementptr inbounds i8, ptr %v44, i64 4
  %v46 = load float, ptr %v45, align 4, !alias.scope !10, !noalias !11, !llvm.access.group !0
  %v47 = fadd reassoc arcp contract afn float %v40, %v46
  %v48 = fmul reassoc arcp contract afn float %v47, 0x3FD0000000000000
  %v49 = mul nsw i64 %v13, 256
  %v50 = mul nsw i64 %i18, 4
  %v51 = getelementptr inbounds i8, ptr %v4, i64 %v49
  %v52 = getelementptr inbounds i8, ptr %v51, i64 %v50
  store float %v48, ptr %v52, align 4, !alias.scope !12, !noalias !13, !llvm.access.group !0
  br label %latch16
latch16:
  %n19 = add nsw i64 %i18, 1
  br label %head14, !llvm.loop !4
done17:
  br label %check9
check9:
  %v55 = load atomic i64, ptr %record monotonic, align 8, !alias.scope !14, !noalias !15
  %v56 = icmp eq i64 %v55, 0
  br i1 %v56, label %on54, label %ask53, !prof !5
ask53:
  %v57 = getelementptr inbounds i8, ptr %ctx, i64 0
  %v58 = load ptr, ptr %v57, align 8, !invariant.load !{}
  %v59 = getelementptr inbounds i8, ptr %v58, i64 56
  %v60 = load ptr, ptr %v59, align 8, !invariant.load !{}
  %v61 = call preserve_allcc zeroext i1 %v60(ptr %record) nounwind willreturn cold memory(inaccessiblemem: readwrite)
  br i1 %v61, label %exit, label %on54
on54:
  br label %latch7
latch7:
  %n11 = add nsw i64 %i10, 1
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
  %v2 = mul nsw i64 62, 16
  %v3 = call i64 @llvm.smax.i64(i64 %v2, i64 1)
  %v4 = udiv i64 40000, %v3
  %v5 = add i64 %v4, 1
  %v6 = icmp sle i64 62, %v5
  br i1 %v6, label %here7, label %shared8
here7:
  call void @weft_task0(ptr %ctx, ptr %s1, i64 0, i64 62)
  br label %done9
shared8:
  %v10 = getelementptr inbounds i8, ptr %ctx, i64 0
  %v11 = load ptr, ptr %v10, align 8, !invariant.load !{}
  %v12 = getelementptr inbounds i8, ptr %v11, i64 16
  %v13 = load i64, ptr %v12, align 8, !invariant.load !{}
  %v14 = getelementptr inbounds i8, ptr %ctx, i64 0
  %v15 = load ptr, ptr %v14, align 8, !invariant.load !{}
  %v16 = getelementptr inbounds i8, ptr %v15, i64 0
  %v17 = load ptr, ptr %v16, align 8, !invariant.load !{}
  call void %v17(i64 %v13, ptr @weft_task0, ptr %ctx, ptr %s1, i64 62, i64 %v5)
  br label %done9
done9:
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
