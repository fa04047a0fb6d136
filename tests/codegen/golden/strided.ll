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
  %v23 = getelementptr inbounds i8, ptr %v22, i64 48
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
  %v39 = icmp slt i32 0, %v6
  br i1 %v39, label %some35, label %done38
some35:
  %v40 = sub i32 %v6, 0
  %v41 = icmp ugt i32 %v40, 32768
  br i1 %v41, label %long36, label %short37, !prof !5
long36:
  %v44 = load atomic i64, ptr %record monotonic, align 8, !alias.scope !9, !noalias !10
  %v45 = icmp eq i64 %v44, 0
  br i1 %v45, label %on43, label %ask42, !prof !2
ask42:
  %v46 = getelementptr inbounds i8, ptr %ctx, i64 0
  %v47 = load ptr, ptr %v46, align 8, !invariant.load !{}
  %v48 = getelementptr inbounds i8, ptr %v47, i64 48
  %v49 = load ptr, ptr %v48, align 8, !invariant.load !{}
  %v50 = call preserve_allcc zeroext i1 %v49(ptr %record) nounwind willreturn cold memory(inaccessiblemem: readwrite)
  br i1 %v50, label %exit, label %on43
on43:
  %v52 = icmp ugt i32 %v40, 10666656
  br i1 %v52, label %very51, label %short37
very51:
  br label %stretch53
stretch53:
  %p57 = phi i32 [ 0, %very51 ], [ %q58, %done74 ]
  %v59 = sub i32 %v6, %p57
  %v60 = icmp sgt i32 %v59, 1333332
  br i1 %v60, label %more54, label %inside55, !prof !1
more54:
  %v63 = load atomic i64, ptr %record monotonic, align 8, !alias.scope !9, !noalias !10
  %v64 = icmp eq i64 %v63, 0
  br i1 %v64, label %on62, label %ask61, !prof !2
ask61:
  %v65 = getelementptr inbounds i8, ptr %ctx, i64 0
  %v66 = load ptr, ptr %v65, align 8, !invariant.load !{}
  %v67 = getelementptr inbounds i8, ptr %v66, i64 48
  %v68 = load ptr, ptr %v67, align 8, !invariant.load !{}
  %v69 = call preserve_allcc zeroext i1 %v68(ptr %record) nounwind willreturn cold memory(inaccessiblemem: readwrite)
  br i1 %v69, label %exit, label %on62
on62:
  %v70 = add i32 %p57, 1333332
  br label %inside55
inside55:
  %q58 = phi i32 [ %v6, %stretch53 ], [ %v70, %on62 ]
  %v77 = call i32 @llvm.ssub.sat.i32(i32 %q58, i32 2)
  %v78 = icmp slt i32 %p57, %q58
  br i1 %v78, label %enter71, label %done74
enter71:
  br label %body72
body72:
  %i75 = phi i32 [ %p57, %enter71 ], [ %n76, %latch73 ]
  %v79 = mul i32 %i75, %i75
  %v80 = load i32, ptr %s34, align 4
  %v81 = add i32 %v80, %v79
  store i32 %v81, ptr %s34, align 4
  br label %latch73
latch73:
  %n76 = add nsw i32 %i75, 2
  %v82 = icmp slt i32 %i75, %v77
  br i1 %v82, label %body72, label %done74
done74:
  %v83 = icmp slt i32 %q58, %v6
  br i1 %v83, label %stretch53, label %done56, !prof !1
done56:
  br label %done38
short37:
  %v90 = call i32 @llvm.ssub.sat.i32(i32 %v6, i32 2)
  %v91 = icmp slt i32 0, %v6
  br i1 %v91, label %enter84, label %done87
enter84:
  br label %body85
body85:
  %i88 = phi i32 [ 0, %enter84 ], [ %n89, %latch86 ]
  %v92 = mul i32 %i88, %i88
  %v93 = load i32, ptr %s34, align 4
  %v94 = add i32 %v93, %v92
  store i32 %v94, ptr %s34, align 4
  br label %latch86
latch86:
  %n89 = add nsw i32 %i88, 2
  %v95 = icmp slt i32 %i88, %v90
  br i1 %v95, label %body85, label %done87
done87:
  br label %done38
done38:
  %v96 = load i32, ptr %s34, align 4
  %v97 = mul nsw i64 %i31, 4
  %v98 = getelementptr inbounds i8, ptr %v4, i64 %v97
  store i32 %v96, ptr %v98, align 4, !alias.scope !11, !noalias !12, !llvm.access.group !0
  br label %latch29
latch29:
  %n32 = add nsw i64 %i31, 1
  br label %head27, !llvm.loop !4
done30:
  %v99 = icmp slt i64 %q14, %v8
  br i1 %v99, label %stretch9, label %done12, !prof !1
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
!1 = !{!"branch_weights", i32 1, i32 1000000}
!2 = !{!"branch_weights", i32 1000000, i32 1}
!3 = !{!"llvm.loop.parallel_accesses", !0}
!4 = distinct !{!4, !3}
!5 = !{!"branch_weights", i32 1, i32 1048576}
!6 = distinct !{!"fields"}
!7 = distinct !{!"record", !6}
!8 = distinct !{!"array:1", !6}
!9 = !{!7}
!10 = !{!8}
!11 = !{!8}
!12 = !{!7}
