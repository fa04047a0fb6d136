; a golden module


declare i64 @llvm.smax.i64(i64, i64)

define internal void @weft_task0(ptr noalias %ctx, ptr noalias %box, i64 %begin, i64 %end) noinline nounwind "reciprocal-estimates"="none" {
entry:
  %s8 = alloca i32, align 4
  %s23 = alloca i32, align 8
  %s26 = alloca i32, align 4
  %record.at = getelementptr inbounds i8, ptr %ctx, i64 8
  %record = load ptr, ptr %record.at, align 8, !invariant.load !{}
  br label %start
start:
  %v1 = getelementptr inbounds i8, ptr %box, i64 8
  %v2 = load i64, ptr %v1, align 8, !invariant.load !{}
  %v3 = getelementptr inbounds i8, ptr %ctx, i64 24
  %v4 = load ptr, ptr %v3, align 8, !invariant.load !{}
  %v6 = add nsw i64 0, %begin
  %v7 = add nsw i64 0, %end
  store i32 16, ptr %s8, align 4
  br label %head9
head9:
  %i14 = phi i64 [ %v6, %start ], [ %n15, %latch11 ]
  %v16 = icmp slt i64 %i14, %v7
  br i1 %v16, label %body10, label %done12
body10:
  %v17 = trunc i64 %i14 to i32
  %v18 = and i32 %v17, 1
  %v19 = icmp eq i32 %v18, 0
  br i1 %v19, label %then20, label %done22
then20:
  br label %check13
done22:
  store i32 0, ptr %s23, align 4
  store i32 1024, ptr %s26, align 4
  br label %while24
while24:
  %v28 = load i32, ptr %s23, align 4
  %v29 = icmp slt i32 %v28, %v17
  br i1 %v29, label %then30, label %else31
then30:
  br label %done32
else31:
  br label %done25
done32:
  %v33 = add i32 %v28, 2
  store i32 %v33, ptr %s23, align 4
  %v34 = icmp sgt i32 %v33, 5
  br i1 %v34, label %then35, label %done37
then35:
  br label %done25
done37:
  br label %check27
check27:
  %v40 = load i32, ptr %s26, align 4
  %v41 = sub i32 %v40, 1
  store i32 %v41, ptr %s26, align 4
  %v42 = icmp slt i32 %v41, 0
  br i1 %v42, label %now38, label %on39, !prof !3
now38:
  store i32 1024, ptr %s26, align 4
  %v45 = load atomic i64, ptr %record monotonic, align 8, !alias.scope !8, !noalias !9
  %v46 = icmp eq i64 %v45, 0
  br i1 %v46, label %on44, label %ask43, !prof !4
ask43:
  %v47 = getelementptr inbounds i8, ptr %ctx, i64 0
  %v48 = load ptr, ptr %v47, align 8, !invariant.load !{}
  %v49 = getelementptr inbounds i8, ptr %v48, i64 56
  %v50 = load ptr, ptr %v49, align 8, !invariant.load !{}
  %v51 = call preserve_allcc zeroext i1 %v50(ptr %record) nounwind willreturn cold memory(inaccessiblemem: readwrite)
  br i1 %v51, label %exit, label %on44
on44:
  br label %on39
on39:
  br label %while24
done25:
  %v52 = load i32, ptr %s23, align 4
  %v53 = sext i32 %v52 to i64
  %v54 = mul nsw i64 %v53, 4
  %v55 = getelementptr inbounds i8, ptr %v4, i64 %v54
  %v56 = icmp sge i32 %v52, 0
  %v57 = icmp slt i32 %v52, 8
  %v58 = and i1 %v56, %v57
  br i1 %v58, label %holds61, label %fail59
fail59:
  %v62 = getelementptr inbounds i8, ptr %ctx, i64 8
  %v63 = load ptr, ptr %v62, align 8, !invariant.load !{}
  %v64 = cmpxchg ptr %v63, i32 0, i32 1 acq_rel acquire
  %v65 = extractvalue { i32, i1 } %v64, 1
  br i1 %v65, label %first60, label %exit
first60:
  %v66 = getelementptr inbounds i8, ptr %v63, i64 8
  store i64 0, ptr %v66, align 8
  %v67 = getelementptr inbounds i8, ptr %v63, i64 16
  store i32 %v52, ptr %v67, align 8
  store atomic i32 2, ptr %v63 release, align 8
  br label %exit
holds61:
  store i32 %v17, ptr %v55, align 4, !alias.scope !10, !noalias !11, !llvm.access.group !0
  br label %check13
check13:
  %v70 = load i32, ptr %s8, align 4
  %v71 = sub i32 %v70, 1
  store i32 %v71, ptr %s8, align 4
  %v72 = icmp slt i32 %v71, 0
  br i1 %v72, label %now68, label %on69, !prof !3
now68:
  store i32 16, ptr %s8, align 4
  %v75 = load atomic i64, ptr %record monotonic, align 8, !alias.scope !8, !noalias !9
  %v76 = icmp eq i64 %v75, 0
  br i1 %v76, label %on74, label %ask73, !prof !4
ask73:
  %v77 = getelementptr inbounds i8, ptr %ctx, i64 0
  %v78 = load ptr, ptr %v77, align 8, !invariant.load !{}
  %v79 = getelementptr inbounds i8, ptr %v78, i64 56
  %v80 = load ptr, ptr %v79, align 8, !invariant.load !{}
  %v81 = call preserve_allcc zeroext i1 %v80(ptr %record) nounwind willreturn cold memory(inaccessiblemem: readwrite)
  br i1 %v81, label %exit, label %on74
on74:
  br label %on69
on69:
  br label %latch11
latch11:
  %n15 = add nsw i64 %i14, 1
  br label %head9, !llvm.loop !2
done12:
  br label %exit
exit:
  ret void
}

define void @weft_entry(ptr noalias %ctx) nounwind "reciprocal-estimates"="none" {
entry:
  %s4 = alloca [2 x i64], align 8
  %record.at = getelementptr inbounds i8, ptr %ctx, i64 8
  %record = load ptr, ptr %record.at, align 8, !invariant.load !{}
  %s36 = alloca [1 x i64], align 8
  br label %start
start:
  %v1 = getelementptr inbounds i8, ptr %ctx, i64 32
  %v2 = load i32, ptr %v1, align 8, !invariant.load !{}
  %v3 = sext i32 %v2 to i64
  %v5 = getelementptr inbounds i8, ptr %s4, i64 0
  store i64 0, ptr %v5, align 8
  %v6 = getelementptr inbounds i8, ptr %s4, i64 8
  store i64 %v3, ptr %v6, align 8
  %v7 = sub nsw i64 %v3, 0
  %v8 = call i64 @llvm.smax.i64(i64 %v7, i64 0)
  %v9 = mul nsw i64 1, 158
  %v10 = call i64 @llvm.smax.i64(i64 %v9, i64 1)
  %v11 = udiv i64 40000, %v10
  %v12 = add i64 %v11, 1
  %v13 = icmp sle i64 %v8, %v12
  br i1 %v13, label %here14, label %shared15
here14:
  call void @weft_task0(ptr %ctx, ptr %s4, i64 0, i64 %v8)
  br label %done16
shared15:
  %v17 = getelementptr inbounds i8, ptr %ctx, i64 0
  %v18 = load ptr, ptr %v17, align 8, !invariant.load !{}
  %v19 = getelementptr inbounds i8, ptr %v18, i64 16
  %v20 = load i64, ptr %v19, align 8, !invariant.load !{}
  %v21 = getelementptr inbounds i8, ptr %ctx, i64 0
  %v22 = load ptr, ptr %v21, align 8, !invariant.load !{}
  %v23 = getelementptr inbounds i8, ptr %v22, i64 0
  %v24 = load ptr, ptr %v23, align 8, !invariant.load !{}
  call void %v24(i64 %v20, ptr @weft_task0, ptr %ctx, ptr %s4, i64 %v8, i64 %v12)
  br label %done16
done16:
  %v27 = load atomic i64, ptr %record monotonic, align 8, !alias.scope !8, !noalias !9
  %v28 = icmp eq i64 %v27, 0
  br i1 %v28, label %on26, label %ask25, !prof !4
ask25:
  %v29 = getelementptr inbounds i8, ptr %ctx, i64 0
  %v30 = load ptr, ptr %v29, align 8, !invariant.load !{}
  %v31 = getelementptr inbounds i8, ptr %v30, i64 56
  %v32 = load ptr, ptr %v31, align 8, !invariant.load !{}
  %v33 = call preserve_allcc zeroext i1 %v32(ptr %record) nounwind willreturn cold memory(inaccessiblemem: readwrite)
  br i1 %v33, label %exit, label %on26
on26:
  %v34 = getelementptr inbounds i8, ptr %ctx, i64 32
  %v35 = load i32, ptr %v34, align 8, !invariant.load !{}
  %v37 = getelementptr inbounds i8, ptr %s36, i64 0
  store i32 %v35, ptr %v37, align 8
  %v38 = getelementptr inbounds i8, ptr %ctx, i64 0
  %v39 = load ptr, ptr %v38, align 8, !invariant.load !{}
  %v40 = getelementptr inbounds i8, ptr %v39, i64 8
  %v41 = load ptr, ptr %v40, align 8, !invariant.load !{}
  call void %v41(i64 1, ptr %s36)
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
