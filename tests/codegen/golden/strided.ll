; a golden module


declare i64 @llvm.smax.i64(i64, i64)
declare i32 @llvm.ssub.sat.i32(i32, i32)

define internal void @weft_task0(ptr noalias %ctx, ptr noalias %box, i64 %begin, i64 %end) noinline nounwind "reciprocal-estimates"="none" {
entry:
  %record.at = getelementptr inbounds i8, ptr %ctx, i64 8
  %record = load ptr, ptr %record.at, align 8, !invariant.load !{}
  %s34 = alloca i32, align 8
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
  br label %stretch9
stretch9:
  %p13 = phi i64 [ %v7, %start ], [ %q14, %done30 ]
  %v15 = sub i64 %v8, %p13
  %v16 = icmp sgt i64 %v15, 256
  br i1 %v16, label %more10, label %inside11, !prof !1
more10:
  %v19 = load atomic i64, ptr %record monotonic, align 8, !alias.scope !9, !noalias !10
  %v20 = icmp eq i64 %v19, 0
  br i1 %v20, label %on18, label %ask17, !prof !2
ask17:
  %v21 = getelementptr inbounds i8, ptr %ctx, i64 0
  %v22 = load ptr, ptr %v21, align 8, !invariant.load !{}
  %v23 = getelementptr inbounds i8, ptr %v22, i64 56
  %v24 = load ptr, ptr %v23, align 8, !invariant.load !{}
  %v25 = call preserve_allcc zeroext i1 %v24(ptr %record) nounwind willreturn cold memory(inaccessiblemem: readwrite)
  br i1 %v25, label %exit, label %on18
on18:
  %v26 = add i64 %p13, 256
  br label %inside11
inside11:
  %q14 = phi i64 [ %v8, %stretch9 ], [ %v26, %on18 ]
  br label %head27
head27:
  %i31 = phi i64 [ %p13, %inside11 ], [ %n32, %latch29 ]
  %v33 = icmp slt i64 %i31, %q14
  br i1 %v33, label %body28, label %done30
body28:
  store i32 0, ptr %s34, align 4
  %v39 = sub i32 %v6, 0
  %v40 = sub i32 %v39, 1
  %v41 = icmp ult i32 %v40, 32768
  br i1 %v41, label %short37, label %some35, !prof !5
some35:
  %v42 = icmp slt i32 0, %v6
  br i1 %v42, label %long36, label %done38
long36:
  %v45 = load atomic i64, ptr %record monotonic, align 8, !alias.scope !9, !noalias !10
  %v46 = icmp eq i64 %v45, 0
  br i1 %v46, label %on44, label %ask43, !prof !2
ask43:
  %v47 = getelementptr inbounds i8, ptr %ctx, i64 0
  %v48 = load ptr, ptr %v47, align 8, !invariant.load !{}
  %v49 = getelementptr inbounds i8, ptr %v48, i64 56
  %v50 = load ptr, ptr %v49, align 8, !invariant.load !{}
  %v51 = call preserve_allcc zeroext i1 %v50(ptr %record) nounwind willreturn cold memory(inaccessiblemem: readwrite)
  br i1 %v51, label %exit, label %on44
on44:
  %v53 = icmp ult i32 %v40, 10666656
  br i1 %v53, label %short37, label %very52
very52:
  br label %stretch54
stretch54:
  %p58 = phi i32 [ 0, %very52 ], [ %q59, %done75 ]
  %v60 = sub i32 %v6, %p58
  %v61 = icmp sgt i32 %v60, 1333332
  br i1 %v61, label %more55, label %inside56, !prof !1
more55:
  %v64 = load atomic i64, ptr %record monotonic, align 8, !alias.scope !9, !noalias !10
  %v65 = icmp eq i64 %v64, 0
  br i1 %v65, label %on63, label %ask62, !prof !2
ask62:
  %v66 = getelementptr inbounds i8, ptr %ctx, i64 0
  %v67 = load ptr, ptr %v66, align 8, !invariant.load !{}
  %v68 = getelementptr inbounds i8, ptr %v67, i64 56
  %v69 = load ptr, ptr %v68, align 8, !invariant.load !{}
  %v70 = call preserve_allcc zeroext i1 %v69(ptr %record) nounwind willreturn cold memory(inaccessiblemem: readwrite)
  br i1 %v70, label %exit, label %on63
on63:
  %v71 = add i32 %p58, 1333332
  br label %inside56
inside56:
  %q59 = phi i32 [ %v6, %stretch54 ], [ %v71, %on63 ]
  %v78 = call i32 @llvm.ssub.sat.i32(i32 %q59, i32 2)
  %v79 = icmp slt i32 %p58, %q59
  br i1 %v79, label %enter72, label %done75
enter72:
  br label %body73
body73:
  %i76 = phi i32 [ %p58, %enter72 ], [ %n77, %latch74 ]
  %v80 = mul i32 %i76, %i76
  %v81 = load i32, ptr %s34, align 4
  %v82 = add i32 %v81, %v80
  store i32 %v82, ptr %s34, align 4
  br label %latch74
latch74:
  %n77 = add nsw i32 %i76, 2
  %v83 = icmp slt i32 %i76, %v78
  br i1 %v83, label %body73, label %done75
done75:
  %v84 = icmp slt i32 %q59, %v6
  br i1 %v84, label %stretch54, label %done57, !prof !1
done57:
  br label %done38
short37:
  %v91 = call i32 @llvm.ssub.sat.i32(i32 %v6, i32 2)
  %v92 = icmp slt i32 0, %v6
  br i1 %v92, label %enter85, label %done88
enter85:
  br label %body86
body86:
  %i89 = phi i32 [ 0, %enter85 ], [ %n90, %latch87 ]
  %v93 = mul i32 %i89, %i89
  %v94 = load i32, ptr %s34, align 4
  %v95 = add i32 %v94, %v93
  store i32 %v95, ptr %s34, align 4
  br label %latch87
latch87:
  %n90 = add nsw i32 %i89, 2
  %v96 = icmp slt i32 %i89, %v91
  br i1 %v96, label %body86, label %done88
done88:
  br label %done38
done38:
  %v97 = load i32, ptr %s34, align 4
  %v98 = mul nsw i64 %i31, 4
  %v99 = getelementptr inbounds i8, ptr %v4, i64 %v98
  store i32 %v97, ptr %v99, align 4, !alias.scope !11, !noalias !12, !llvm.access.group !0
  br label %latch29
latch29:
  %n32 = add nsw i64 %i31, 1
  br label %head27, !llvm.loop !4
done30:
  %v100 = icmp slt i64 %q14, %v8
  br i1 %v100, label %stretch9, label %done12, !prof !1
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
  %v4 = getelementptr inbounds i8, ptr %s3, i64 8
  store i64 %v2, ptr %v4, align 8
  %v5 = sub nsw i64 %v2, 0
  %v6 = call i64 @llvm.smax.i64(i64 %v5, i64 0)
  %v7 = mul nsw i64 1, 103
  %v8 = call i64 @llvm.smax.i64(i64 %v7, i64 1)
  %v9 = udiv i64 40000, %v8
  %v10 = add i64 %v9, 1
  %v11 = icmp sle i64 %v6, %v10
  br i1 %v11, label %here12, label %shared13
here12:
  call void @weft_task0(ptr %ctx, ptr %s3, i64 0, i64 %v6)
  br label %done14
shared13:
  %v15 = getelementptr inbounds i8, ptr %ctx, i64 0
  %v16 = load ptr, ptr %v15, align 8, !invariant.load !{}
  %v17 = getelementptr inbounds i8, ptr %v16, i64 16
  %v18 = load i64, ptr %v17, align 8, !invariant.load !{}
  %v19 = getelementptr inbounds i8, ptr %ctx, i64 0
  %v20 = load ptr, ptr %v19, align 8, !invariant.load !{}
  %v21 = getelementptr inbounds i8, ptr %v20, i64 0
  %v22 = load ptr, ptr %v21, align 8, !invariant.load !{}
  call void %v22(i64 %v18, ptr @weft_task0, ptr %ctx, ptr %s3, i64 %v6, i64 %v10)
  br label %done14
done14:
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
