; a golden module


declare i64 @llvm.smax.i64(i64, i64)

define internal void @weft_task0(ptr noalias %ctx, ptr noalias %box, i64 %begin, i64 %end) noinline nounwind "reciprocal-estimates"="none" {
entry:
  %s7 = alloca i32, align 4
  %s22 = alloca i32, align 8
  %s25 = alloca i32, align 4
  %record.at = getelementptr inbounds i8, ptr %ctx, i64 8
  %record = load ptr, ptr %record.at, align 8, !invariant.load !{}
  br label %start
start:
  %v1 = getelementptr inbounds i8, ptr %box, i64 8
  %v2 = load i64, ptr %v1, align 8, !invariant.load !{}
  %v3 = getelementptr inbounds i8, ptr %ctx, i64 24
  %v4 = load ptr, ptr %v3, align 8, !invariant.load !{}
  %v5 = add nsw i64 0, %begin
  %v6 = add nsw i64 0, %end
  store i32 16, ptr %s7, align 4
  br label %head8
head8:
  %i13 = phi i64 [ %v5, %start ], [ %n14, %latch10 ]
  %v15 = icmp slt i64 %i13, %v6
  br i1 %v15, label %body9, label %done11
body9:
  %v16 = trunc i64 %i13 to i32
  %v17 = and i32 %v16, 1
  %v18 = icmp eq i32 %v17, 0
  br i1 %v18, label %then19, label %done21
then19:
  br label %check12
done21:
  store i32 0, ptr %s22, align 4
  store i32 1024, ptr %s25, align 4
  br label %while23
while23:
  %v27 = load i32, ptr %s22, align 4
  %v28 = icmp slt i32 %v27, %v16
  br i1 %v28, label %then29, label %else30
then29:
  br label %done31
else30:
  br label %done24
done31:
  %v32 = add i32 %v27, 2
  store i32 %v32, ptr %s22, align 4
  %v33 = icmp sgt i32 %v32, 5
  br i1 %v33, label %then34, label %done36
then34:
  br label %done24
done36:
  br label %check26
check26:
  %v39 = load i32, ptr %s25, align 4
  %v40 = sub i32 %v39, 1
  store i32 %v40, ptr %s25, align 4
  %v41 = icmp slt i32 %v40, 0
  br i1 %v41, label %now37, label %on38, !prof !3
now37:
  store i32 1024, ptr %s25, align 4
  %v44 = load atomic i64, ptr %record monotonic, align 8, !alias.scope !8, !noalias !9
  %v45 = icmp eq i64 %v44, 0
  br i1 %v45, label %on43, label %ask42, !prof !4
ask42:
  %v46 = getelementptr inbounds i8, ptr %ctx, i64 0
  %v47 = load ptr, ptr %v46, align 8, !invariant.load !{}
  %v48 = getelementptr inbounds i8, ptr %v47, i64 56
  %v49 = load ptr, ptr %v48, align 8, !invariant.load !{}
  %v50 = call preserve_allcc zeroext i1 %v49(ptr %record) nounwind willreturn cold memory(inaccessiblemem: readwrite)
  br i1 %v50, label %exit, label %on43
on43:
  br label %on38
on38:
  br label %while23
done24:
  %v51 = load i32, ptr %s22, align 4
  %v52 = sext i32 %v51 to i64
  %v53 = mul nsw i64 %v52, 4
  %v54 = getelementptr inbounds i8, ptr %v4, i64 %v53
  %v55 = icmp sge i32 %v51, 0
  %v56 = icmp slt i32 %v51, 8
  %v57 = and i1 %v55, %v56
  br i1 %v57, label %holds60, label %fail58
fail58:
  %v61 = getelementptr inbounds i8, ptr %ctx, i64 8
  %v62 = load ptr, ptr %v61, align 8, !invariant.load !{}
  %v63 = cmpxchg ptr %v62, i32 0, i32 1 acq_rel acquire
  %v64 = extractvalue { i32, i1 } %v63, 1
  br i1 %v64, label %first59, label %exit
first59:
  %v65 = getelementptr inbounds i8, ptr %v62, i64 8
  store i64 0, ptr %v65, align 8
  %v66 = getelementptr inbounds i8, ptr %v62, i64 16
  store i32 %v51, ptr %v66, align 8
  store atomic i32 2, ptr %v62 release, align 8
  br label %exit
holds60:
  store i32 %v16, ptr %v54, align 4, !alias.scope !10, !noalias !11, !llvm.access.group !0
  br label %check12
check12:
  %v69 = load i32, ptr %s7, align 4
  %v70 = sub i32 %v69, 1
  store i32 %v70, ptr %s7, align 4
  %v71 = icmp slt i32 %v70, 0
  br i1 %v71, label %now67, label %on68, !prof !3
now67:
  store i32 16, ptr %s7, align 4
  %v74 = load atomic i64, ptr %record monotonic, align 8, !alias.scope !8, !noalias !9
  %v75 = icmp eq i64 %v74, 0
  br i1 %v75, label %on73, label %ask72, !prof !4
ask72:
  %v76 = getelementptr inbounds i8, ptr %ctx, i64 0
  %v77 = load ptr, ptr %v76, align 8, !invariant.load !{}
  %v78 = getelementptr inbounds i8, ptr %v77, i64 56
  %v79 = load ptr, ptr %v78, align 8, !invariant.load !{}
  %v80 = call preserve_allcc zeroext i1 %v79(ptr %record) nounwind willreturn cold memory(inaccessiblemem: readwrite)
  br i1 %v80, label %exit, label %on73
on73:
  br label %on68
on68:
  br label %latch10
latch10:
  %n14 = add nsw i64 %i13, 1
  br label %head8, !llvm.loop !2
done11:
  br label %exit
exit:
  ret void
}

define void @weft_entry(ptr noalias %ctx) nounwind "reciprocal-estimates"="none" {
entry:
  %s4 = alloca [2 x i64], align 8
  %record.at = getelementptr inbounds i8, ptr %ctx, i64 8
  %record = load ptr, ptr %record.at, align 8, !invariant.load !{}
  %s35 = alloca [1 x i64], align 8
  br label %start
start:
  %v1 = getelementptr inbounds i8, ptr %ctx, i64 32
  %v2 = load i32, ptr %v1, align 8, !invariant.load !{}
  %v3 = sext i32 %v2 to i64
  %v5 = getelementptr inbounds i8, ptr %s4, i64 8
  store i64 %v3, ptr %v5, align 8
  %v6 = sub nsw i64 %v3, 0
  %v7 = call i64 @llvm.smax.i64(i64 %v6, i64 0)
  %v8 = mul nsw i64 1, 158
  %v9 = call i64 @llvm.smax.i64(i64 %v8, i64 1)
  %v10 = udiv i64 40000, %v9
  %v11 = add i64 %v10, 1
  %v12 = icmp sle i64 %v7, %v11
  br i1 %v12, label %here13, label %shared14
here13:
  call void @weft_task0(ptr %ctx, ptr %s4, i64 0, i64 %v7)
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
  call void %v23(i64 %v19, ptr @weft_task0, ptr %ctx, ptr %s4, i64 %v7, i64 %v11)
  br label %done15
done15:
  %v26 = load atomic i64, ptr %record monotonic, align 8, !alias.scope !8, !noalias !9
  %v27 = icmp eq i64 %v26, 0
  br i1 %v27, label %on25, label %ask24, !prof !4
ask24:
  %v28 = getelementptr inbounds i8, ptr %ctx, i64 0
  %v29 = load ptr, ptr %v28, align 8, !invariant.load !{}
  %v30 = getelementptr inbounds i8, ptr %v29, i64 56
  %v31 = load ptr, ptr %v30, align 8, !invariant.load !{}
  %v32 = call preserve_allcc zeroext i1 %v31(ptr %record) nounwind willreturn cold memory(inaccessiblemem: readwrite)
  br i1 %v32, label %exit, label %on25
on25:
  %v33 = getelementptr inbounds i8, ptr %ctx, i64 32
  %v34 = load i32, ptr %v33, align 8, !invariant.load !{}
  %v36 = getelementptr inbounds i8, ptr %s35, i64 0
  store i32 %v34, ptr %v36, align 8
  %v37 = getelementptr inbounds i8, ptr %ctx, i64 0
  %v38 = load ptr, ptr %v37, align 8, !invariant.load !{}
  %v39 = getelementptr inbounds i8, ptr %v38, i64 8
  %v40 = load ptr, ptr %v39, align 8, !invariant.load !{}
  call void %v40(i64 1, ptr %s35)
  br label %exit
exit:
  ret void
}

!0 = distinct !{}
!1 = !{!"llvm.loop.parallel_accesses", !0}
!2 = distinct !{!2, !1}
!3 = !{!"branch_weights", i32 1, i32 1000000}
!4 = !{!"branch_weights", i32 1000000, i32 1}
!5 = distinct !{!"fields"}
!6 = distinct !{!"record", !5}
!7 = distinct !{!"field:z", !5}
!8 = !{!6}
!9 = !{!7}
!10 = !{!7}
!11 = !{!6}
