; a golden module


declare i64 @llvm.smax.i64(i64, i64)
declare i32 @llvm.ssub.sat.i32(i32, i32)

define internal void @weft_task0(ptr noalias %ctx, ptr noalias %box, i64 %begin, i64 %end) noinline nounwind "reciprocal-estimates"="none" {
entry:
  %record.at = getelementptr inbounds i8, ptr %ctx, i64 8
  %record = load ptr, ptr %record.at, align 8, !invariant.load !{}
  %s35 = alloca i32, align 8
  br label %start
start:
  %v1 = getelementptr inbounds i8, ptr %box, i64 8
  %v2 = load i64, ptr %v1, align 8, !invariant.load !{}
  %v3 = getelementptr inbounds i8, ptr %ctx, i64 32
  %v4 = load ptr, ptr %v3, align 8, !invariant.load !{}
  %v5 = getelementptr inbounds i8, ptr %ctx, i64 24
  %v6 = load i32, ptr %v5, align 8, !invariant.load !{}
  %v8 = add nsw i64 0, %begin
  %v9 = add nsw i64 0, %end
  br label %stretch10
stretch10:
  %p14 = phi i64 [ %v8, %start ], [ %q15, %done31 ]
  %v16 = sub i64 %v9, %p14
  %v17 = icmp sgt i64 %v16, 256
  br i1 %v17, label %more11, label %inside12, !prof !1
more11:
  %v20 = load atomic i64, ptr %record monotonic, align 8, !alias.scope !9, !noalias !10
  %v21 = icmp eq i64 %v20, 0
  br i1 %v21, label %on19, label %ask18, !prof !2
ask18:
  %v22 = getelementptr inbounds i8, ptr %ctx, i64 0
  %v23 = load ptr, ptr %v22, align 8, !invariant.load !{}
  %v24 = getelementptr inbounds i8, ptr %v23, i64 56
  %v25 = load ptr, ptr %v24, align 8, !invariant.load !{}
  %v26 = call preserve_allcc zeroext i1 %v25(ptr %record) nounwind willreturn cold memory(inaccessiblemem: readwrite)
  br i1 %v26, label %exit, label %on19
on19:
  %v27 = add i64 %p14, 256
  br label %inside12
inside12:
  %q15 = phi i64 [ %v9, %stretch10 ], [ %v27, %on19 ]
  br label %head28
head28:
  %i32 = phi i64 [ %p14, %inside12 ], [ %n33, %latch30 ]
  %v34 = icmp slt i64 %i32, %q15
  br i1 %v34, label %body29, label %done31
body29:
  store i32 0, ptr %s35, align 4
  %v40 = sub i32 %v6, 0
  %v41 = sub i32 %v40, 1
  %v42 = icmp ult i32 %v41, 32768
  br i1 %v42, label %short38, label %some36, !prof !5
some36:
  %v43 = icmp slt i32 0, %v6
  br i1 %v43, label %long37, label %done39
long37:
  %v46 = load atomic i64, ptr %record monotonic, align 8, !alias.scope !9, !noalias !10
  %v47 = icmp eq i64 %v46, 0
  br i1 %v47, label %on45, label %ask44, !prof !2
ask44:
  %v48 = getelementptr inbounds i8, ptr %ctx, i64 0
  %v49 = load ptr, ptr %v48, align 8, !invariant.load !{}
  %v50 = getelementptr inbounds i8, ptr %v49, i64 56
  %v51 = load ptr, ptr %v50, align 8, !invariant.load !{}
  %v52 = call preserve_allcc zeroext i1 %v51(ptr %record) nounwind willreturn cold memory(inaccessiblemem: readwrite)
  br i1 %v52, label %exit, label %on45
on45:
  %v54 = icmp ult i32 %v41, 10666656
  br i1 %v54, label %short38, label %very53
very53:
  br label %stretch55
stretch55:
  %p59 = phi i32 [ 0, %very53 ], [ %q60, %done76 ]
  %v61 = sub i32 %v6, %p59
  %v62 = icmp sgt i32 %v61, 1333332
  br i1 %v62, label %more56, label %inside57, !prof !1
more56:
  %v65 = load atomic i64, ptr %record monotonic, align 8, !alias.scope !9, !noalias !10
  %v66 = icmp eq i64 %v65, 0
  br i1 %v66, label %on64, label %ask63, !prof !2
ask63:
  %v67 = getelementptr inbounds i8, ptr %ctx, i64 0
  %v68 = load ptr, ptr %v67, align 8, !invariant.load !{}
  %v69 = getelementptr inbounds i8, ptr %v68, i64 56
  %v70 = load ptr, ptr %v69, align 8, !invariant.load !{}
  %v71 = call preserve_allcc zeroext i1 %v70(ptr %record) nounwind willreturn cold memory(inaccessiblemem: readwrite)
  br i1 %v71, label %exit, label %on64
on64:
  %v72 = add i32 %p59, 1333332
  br label %inside57
inside57:
  %q60 = phi i32 [ %v6, %stretch55 ], [ %v72, %on64 ]
  %v79 = call i32 @llvm.ssub.sat.i32(i32 %q60, i32 2)
  %v80 = icmp slt i32 %p59, %q60
  br i1 %v80, label %enter73, label %done76
enter73:
  br label %body74
body74:
  %i77 = phi i32 [ %p59, %enter73 ], [ %n78, %latch75 ]
  %v81 = mul i32 %i77, %i77
  %v82 = load i32, ptr %s35, align 4
  %v83 = add i32 %v82, %v81
  store i32 %v83, ptr %s35, align 4
  br label %latch75
latch75:
  %n78 = add nsw i32 %i77, 2
  %v84 = icmp slt i32 %i77, %v79
  br i1 %v84, label %body74, label %done76
done76:
  %v85 = icmp slt i32 %q60, %v6
  br i1 %v85, label %stretch55, label %done58, !prof !1
done58:
  br label %done39
short38:
  %v92 = call i32 @llvm.ssub.sat.i32(i32 %v6, i32 2)
  %v93 = icmp slt i32 0, %v6
  br i1 %v93, label %enter86, label %done89
enter86:
  br label %body87
body87:
  %i90 = phi i32 [ 0, %enter86 ], [ %n91, %latch88 ]
  %v94 = mul i32 %i90, %i90
  %v95 = load i32, ptr %s35, align 4
  %v96 = add i32 %v95, %v94
  store i32 %v96, ptr %s35, align 4
  br label %latch88
latch88:
  %n91 = add nsw i32 %i90, 2
  %v97 = icmp slt i32 %i90, %v92
  br i1 %v97, label %body87, label %done89
done89:
  br label %done39
done39:
  %v98 = load i32, ptr %s35, align 4
  %v99 = mul nsw i64 %i32, 4
  %v100 = getelementptr inbounds i8, ptr %v4, i64 %v99
  store i32 %v98, ptr %v100, align 4, !alias.scope !11, !noalias !12, !llvm.access.group !0
  br label %latch30
latch30:
  %n33 = add nsw i64 %i32, 1
  br label %head28, !llvm.loop !4
done31:
  %v101 = icmp slt i64 %q15, %v9
  br i1 %v101, label %stretch10, label %done13, !prof !1
done13:
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
!1 = !{!"branch_weights", i32 1, i32 1000000}
!2 = !{!"branch_weights", i32 1000000, i32 1}
!3 = !{!"llvm.loop.parallel_accesses", !0}
!4 = distinct !{!4, !3}
!5 = !{!"branch_weights", i32 1048576, i32 1}
!6 = distinct !{!"fields"}
!7 = distinct !{!"record", !6}
!8 = distinct !{!"array:1", !6}
!9 = !{!7}
!10 = !{!8}
!11 = !{!8}
!12 = !{!7}
