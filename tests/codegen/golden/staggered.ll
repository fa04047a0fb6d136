; a golden module


declare i64 @llvm.smax.i64(i64, i64)
declare i64 @llvm.smin.i64(i64, i64)
declare i64 @llvm.umin.i64(i64, i64)
declare <8 x i32> @llvm.smax.v8i32(<8 x i32>, <8 x i32>)
declare void @llvm.masked.store.v8i32.p0(<8 x i32>, ptr, <8 x i1>)

define internal void @weft_task0(ptr noalias %ctx, ptr noalias %box, i64 %begin, i64 %end) noinline nounwind "reciprocal-estimates"="none" {
entry:
  %record.at = getelementptr inbounds i8, ptr %ctx, i64 8
  %record = load ptr, ptr %record.at, align 8, !invariant.load !{}
  %s49 = alloca <8 x i32>, align 64
  %s50 = alloca <8 x i32>, align 64
  %s59 = alloca <8 x i32>, align 64
  %s60 = alloca <8 x i32>, align 64
  %s69 = alloca <8 x i1>, align 64
  %s70 = alloca <8 x i1>, align 64
  %s73 = alloca i32, align 4
  br label %start
start:
  %v1 = getelementptr inbounds i8, ptr %box, i64 8
  %v2 = load i64, ptr %v1, align 8, !invariant.load !{}
  %v3 = getelementptr inbounds i8, ptr %ctx, i64 32
  %v4 = load ptr, ptr %v3, align 8, !invariant.load !{}
  %v5 = getelementptr inbounds i8, ptr %ctx, i64 24
  %v6 = load i32, ptr %v5, align 8, !invariant.load !{}
  %v7 = mul i64 %begin, 16
  %v8 = add i64 0, %v7
  %v9 = mul i64 %end, 16
  %v10 = add i64 0, %v9
  %v11 = call i64 @llvm.smin.i64(i64 %v10, i64 %v2)
  br label %stretch12
stretch12:
  %p16 = phi i64 [ %v8, %start ], [ %q17, %done33 ]
  %v18 = sub i64 %v11, %p16
  %v19 = icmp sgt i64 %v18, 256
  br i1 %v19, label %more13, label %inside14, !prof !0
more13:
  %v22 = load atomic i64, ptr %record monotonic, align 8, !alias.scope !5, !noalias !6
  %v23 = icmp eq i64 %v22, 0
  br i1 %v23, label %on21, label %ask20, !prof !1
ask20:
  %v24 = getelementptr inbounds i8, ptr %ctx, i64 0
  %v25 = load ptr, ptr %v24, align 8, !invariant.load !{}
  %v26 = getelementptr inbounds i8, ptr %v25, i64 56
  %v27 = load ptr, ptr %v26, align 8, !invariant.load !{}
  %v28 = call preserve_allcc zeroext i1 %v27(ptr %record) nounwind willreturn cold memory(inaccessiblemem: readwrite)
  br i1 %v28, label %exit, label %on21
on21:
  %v29 = add i64 %p16, 256
  br label %inside14
inside14:
  %q17 = phi i64 [ %v11, %stretch12 ], [ %v29, %on21 ]
  %v36 = icmp slt i64 %p16, %q17
  br i1 %v36, label %enter30, label %done33
enter30:
  br label %body31
body31:
  %i34 = phi i64 [ %p16, %enter30 ], [ %n35, %latch32 ]
  %v37 = sub i64 %q17, %i34
  %v38 = call i64 @llvm.umin.i64(i64 %v37, i64 16)
  %v39 = trunc i64 %v38 to i32
  %v40 = insertelement <8 x i32> poison, i32 %v39, i64 0
  %v41 = shufflevector <8 x i32> %v40, <8 x i32> poison, <8 x i32> zeroinitializer
  %v42 = icmp ult <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %v41
  %v43 = call i64 @llvm.umin.i64(i64 %v37, i64 16)
  %v44 = trunc i64 %v43 to i32
  %v45 = insertelement <8 x i32> poison, i32 %v44, i64 0
  %v46 = shufflevector <8 x i32> %v45, <8 x i32> poison, <8 x i32> zeroinitializer
  %v47 = icmp ult <8 x i32> <i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %v46
  %v48 = trunc i64 %i34 to i32
  store <8 x i32> splat (i32 0), ptr %s49, align 4
  store <8 x i32> splat (i32 0), ptr %s50, align 4
  store <8 x i32> splat (i32 0), ptr %s49, align 4
  store <8 x i32> splat (i32 0), ptr %s50, align 4
  %v51 = insertelement <8 x i32> poison, i32 %v48, i64 0
  %v52 = shufflevector <8 x i32> %v51, <8 x i32> poison, <8 x i32> zeroinitializer
  %v53 = add <8 x i32> %v52, <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %v54 = and <8 x i32> %v53, splat (i32 3)
  %v55 = insertelement <8 x i32> poison, i32 %v48, i64 0
  %v56 = shufflevector <8 x i32> %v55, <8 x i32> poison, <8 x i32> zeroinitializer
  %v57 = add <8 x i32> %v56, <i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %v58 = and <8 x i32> %v57, splat (i32 3)
  store <8 x i32> %v54, ptr %s59, align 4
  store <8 x i32> %v58, ptr %s60, align 4
  %v61 = insertelement <8 x i32> poison, i32 %v6, i64 0
  %v62 = shufflevector <8 x i32> %v61, <8 x i32> poison, <8 x i32> zeroinitializer
  %v63 = add <8 x i32> splat (i32 -2147483648), splat (i32 5)
  %v64 = call <8 x i32> @llvm.smax.v8i32(<8 x i32> %v62, <8 x i32> %v63)
  %v65 = sub <8 x i32> %v64, splat (i32 5)
  %v66 = add <8 x i32> splat (i32 -2147483648), splat (i32 5)
  %v67 = call <8 x i32> @llvm.smax.v8i32(<8 x i32> %v62, <8 x i32> %v66)
  %v68 = sub <8 x i32> %v67, splat (i32 5)
  store <8 x i1> %v42, ptr %s69, align 1
  store <8 x i1> %v47, ptr %s70, align 1
  store i32 1024, ptr %s73, align 4
  br label %while71
while71:
  %v75 = load <8 x i32>, ptr %s59, align 4
  %v76 = load <8 x i32>, ptr %s60, align 4
  %v77 = icmp slt <8 x i32> %v75, %v62
  %v78 = icmp slt <8 x i32> %v76, %v62
  %v79 = load <8 x i1>, ptr %s69, align 1
  %v80 = load <8 x i1>, ptr %s70, align 1
  %v81 = and <8 x i1> %v79, %v77
  %v82 = and <8 x i1> %v80, %v78
  store <8 x i1> %v81, ptr %s69, align 1
  store <8 x i1> %v82, ptr %s70, align 1
  %v83 = or <8 x i1> %v81, %v82
  %v84 = bitcast <8 x i1> %v83 to i8
  %v85 = icmp ne i8 %v84, 0
  br i1 %v85, label %then86, label %else87
then86:
  br label %done88
else87:
  br label %done72
done88:
  %v89 = mul <8 x i32> %v75, %v75
  %v90 = mul <8 x i32> %v76, %v76
  %v91 = load <8 x i32>, ptr %s49, align 4
  %v92 = load <8 x i32>, ptr %s50, align 4
  %v93 = add <8 x i32> %v91, %v89
  %v94 = add <8 x i32> %v92, %v90
  %v95 = load <8 x i32>, ptr %s49, align 4
  %v96 = select <8 x i1> %v81, <8 x i32> %v93, <8 x i32> %v95
  store <8 x i32> %v96, ptr %s49, align 4
  %v97 = load <8 x i32>, ptr %s50, align 4
  %v98 = select <8 x i1> %v82, <8 x i32> %v94, <8 x i32> %v97
  store <8 x i32> %v98, ptr %s50, align 4
  %v99 = icmp slt <8 x i32> %v75, %v65
  %v100 = icmp slt <8 x i32> %v76, %v68
  %v101 = load <8 x i1>, ptr %s69, align 1
  %v102 = load <8 x i1>, ptr %s70, align 1
  %v103 = and <8 x i1> %v101, %v99
  %v104 = and <8 x i1> %v102, %v100
  store <8 x i1> %v103, ptr %s69, align 1
  store <8 x i1> %v104, ptr %s70, align 1
  %v105 = add <8 x i32> %v75, splat (i32 5)
  store <8 x i32> %v105, ptr %s59, align 4
  %v106 = add <8 x i32> %v76, splat (i32 5)
  store <8 x i32> %v106, ptr %s60, align 4
  br label %check74
check74:
  %v109 = load i32, ptr %s73, align 4
  %v110 = sub i32 %v109, 1
  store i32 %v110, ptr %s73, align 4
  %v111 = icmp slt i32 %v110, 0
  br i1 %v111, label %now107, label %on108, !prof !0
now107:
  store i32 1024, ptr %s73, align 4
  %v114 = load atomic i64, ptr %record monotonic, align 8, !alias.scope !5, !noalias !6
  %v115 = icmp eq i64 %v114, 0
  br i1 %v115, label %on113, label %ask112, !prof !1
ask112:
  %v116 = getelementptr inbounds i8, ptr %ctx, i64 0
  %v117 = load ptr, ptr %v116, align 8, !invariant.load !{}
  %v118 = getelementptr inbounds i8, ptr %v117, i64 56
  %v119 = load ptr, ptr %v118, align 8, !invariant.load !{}
  %v120 = call preserve_allcc zeroext i1 %v119(ptr %record) nounwind willreturn cold memory(inaccessiblemem: readwrite)
  br i1 %v120, label %exit, label %on113
on113:
  br label %on108
on108:
  br label %while71
done72:
  %v121 = load <8 x i32>, ptr %s49, align 4
  %v122 = load <8 x i32>, ptr %s50, align 4
  %v123 = mul i64 %i34, 4
  %v124 = getelementptr i8, ptr %v4, i64 %v123
  call void @llvm.masked.store.v8i32.p0(<8 x i32> %v121, ptr align 4 %v124, <8 x i1> %v42), !alias.scope !7, !noalias !8
  %v125 = getelementptr i8, ptr %v124, i64 32
  call void @llvm.masked.store.v8i32.p0(<8 x i32> %v122, ptr align 4 %v125, <8 x i1> %v47), !alias.scope !7, !noalias !8
  br label %latch32
latch32:
  %n35 = add nsw i64 %i34, 16
  %v126 = icmp ugt i64 %v37, 16
  br i1 %v126, label %body31, label %done33
done33:
  %v127 = icmp slt i64 %q17, %v11
  br i1 %v127, label %stretch12, label %done15, !prof !0
done15:
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
  %v7 = add i64 %v6, 15
  %v8 = udiv i64 %v7, 16
  %v9 = mul nsw i64 16, 26
  %v10 = call i64 @llvm.smax.i64(i64 %v9, i64 1)
  %v11 = udiv i64 40000, %v10
  %v12 = add i64 %v11, 1
  %v13 = icmp sle i64 %v8, %v12
  br i1 %v13, label %here14, label %shared15
here14:
  call void @weft_task0(ptr %ctx, ptr %s3, i64 0, i64 %v8)
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
  call void %v24(i64 %v20, ptr @weft_task0, ptr %ctx, ptr %s3, i64 %v8, i64 %v12)
  br label %done16
done16:
  br label %exit
exit:
  ret void
}

!0 = !{!"branch_weights", i32 1, i32 1000000}
!1 = !{!"branch_weights", i32 1000000, i32 1}
!2 = distinct !{!"fields"}
!3 = distinct !{!"record", !2}
!4 = distinct !{!"array:1", !2}
!5 = !{!3}
!6 = !{!4}
!7 = !{!4}
!8 = !{!3}
