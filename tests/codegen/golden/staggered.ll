; a golden module


declare i64 @llvm.smax.i64(i64, i64)
declare i64 @llvm.smin.i64(i64, i64)
declare i64 @llvm.umin.i64(i64, i64)
declare <8 x i32> @llvm.ssub.sat.v8i32(<8 x i32>, <8 x i32>)
declare void @llvm.masked.store.v8i32.p0(<8 x i32>, ptr, <8 x i1>)

define internal void @weft_task0(ptr noalias %ctx, ptr noalias %box, i64 %begin, i64 %end) noinline nounwind "reciprocal-estimates"="none" {
entry:
  %record.at = getelementptr inbounds i8, ptr %ctx, i64 8
  %record = load ptr, ptr %record.at, align 8, !invariant.load !{}
  %s45 = alloca <8 x i32>, align 64
  %s46 = alloca <8 x i32>, align 64
  %s59 = alloca <8 x i32>, align 64
  %s60 = alloca <8 x i32>, align 64
  %s67 = alloca <8 x i1>, align 8
  %s68 = alloca <8 x i1>, align 8
  %s69 = alloca <8 x i1>, align 8
  %s70 = alloca <8 x i1>, align 8
  %s71 = alloca i32, align 4
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
  %v26 = getelementptr inbounds i8, ptr %v25, i64 48
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
  %v43 = icmp ult <8 x i32> <i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %v41
  %v44 = trunc i64 %i34 to i32
  store <8 x i32> zeroinitializer, ptr %s45, align 64
  store <8 x i32> zeroinitializer, ptr %s46, align 64
  store <8 x i32> splat (i32 0), ptr %s45, align 4
  store <8 x i32> splat (i32 0), ptr %s46, align 4
  %v47 = insertelement <8 x i32> poison, i32 %v44, i64 0
  %v48 = shufflevector <8 x i32> %v47, <8 x i32> poison, <8 x i32> zeroinitializer
  %v49 = add <8 x i32> %v48, <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %v50 = and <8 x i32> %v49, splat (i32 3)
  %v51 = insertelement <8 x i32> poison, i32 %v44, i64 0
  %v52 = shufflevector <8 x i32> %v51, <8 x i32> poison, <8 x i32> zeroinitializer
  %v53 = add <8 x i32> %v52, <i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %v54 = and <8 x i32> %v53, splat (i32 3)
  store <8 x i32> %v50, ptr %s59, align 64
  store <8 x i32> %v54, ptr %s60, align 64
  %v61 = insertelement <8 x i32> poison, i32 %v6, i64 0
  %v62 = shufflevector <8 x i32> %v61, <8 x i32> poison, <8 x i32> zeroinitializer
  %v63 = call <8 x i32> @llvm.ssub.sat.v8i32(<8 x i32> %v62, <8 x i32> splat (i32 5))
  %v64 = insertelement <8 x i32> poison, i32 %v6, i64 0
  %v65 = shufflevector <8 x i32> %v64, <8 x i32> poison, <8 x i32> zeroinitializer
  %v66 = call <8 x i32> @llvm.ssub.sat.v8i32(<8 x i32> %v65, <8 x i32> splat (i32 5))
  store <8 x i1> %v42, ptr %s67, align 8
  store <8 x i1> %v43, ptr %s68, align 8
  store <8 x i1> %v42, ptr %s69, align 8
  store <8 x i1> %v43, ptr %s70, align 8
  store i32 1024, ptr %s71, align 4
  br label %head55
head55:
  %v72 = load <8 x i32>, ptr %s59, align 64
  %v73 = load <8 x i32>, ptr %s60, align 64
  %v74 = insertelement <8 x i32> poison, i32 %v6, i64 0
  %v75 = shufflevector <8 x i32> %v74, <8 x i32> poison, <8 x i32> zeroinitializer
  %v76 = icmp slt <8 x i32> %v72, %v75
  %v77 = insertelement <8 x i32> poison, i32 %v6, i64 0
  %v78 = shufflevector <8 x i32> %v77, <8 x i32> poison, <8 x i32> zeroinitializer
  %v79 = icmp slt <8 x i32> %v73, %v78
  %v80 = load <8 x i1>, ptr %s67, align 8
  %v81 = load <8 x i1>, ptr %s68, align 8
  %v82 = and <8 x i1> %v80, %v76
  %v83 = and <8 x i1> %v81, %v79
  store <8 x i1> %v82, ptr %s67, align 8
  store <8 x i1> %v83, ptr %s68, align 8
  store <8 x i1> %v82, ptr %s69, align 8
  store <8 x i1> %v83, ptr %s70, align 8
  %v84 = or <8 x i1> %v82, %v83
  %v85 = bitcast <8 x i1> %v84 to i8
  %v86 = icmp ne i8 %v85, 0
  br i1 %v86, label %body56, label %done58
body56:
  %v89 = load i32, ptr %s71, align 4
  %v90 = sub i32 %v89, 1
  store i32 %v90, ptr %s71, align 4
  %v91 = icmp slt i32 %v90, 0
  br i1 %v91, label %now87, label %on88, !prof !0
now87:
  store i32 1024, ptr %s71, align 4
  %v94 = load atomic i64, ptr %record monotonic, align 8, !alias.scope !5, !noalias !6
  %v95 = icmp eq i64 %v94, 0
  br i1 %v95, label %on93, label %ask92, !prof !1
ask92:
  %v96 = getelementptr inbounds i8, ptr %ctx, i64 0
  %v97 = load ptr, ptr %v96, align 8, !invariant.load !{}
  %v98 = getelementptr inbounds i8, ptr %v97, i64 48
  %v99 = load ptr, ptr %v98, align 8, !invariant.load !{}
  %v100 = call preserve_allcc zeroext i1 %v99(ptr %record) nounwind willreturn cold memory(inaccessiblemem: readwrite)
  br i1 %v100, label %exit, label %on93
on93:
  br label %on88
on88:
  %v101 = mul <8 x i32> %v72, %v72
  %v102 = mul <8 x i32> %v73, %v73
  %v103 = load <8 x i32>, ptr %s45, align 4
  %v104 = load <8 x i32>, ptr %s46, align 4
  %v105 = add <8 x i32> %v103, %v101
  %v106 = add <8 x i32> %v104, %v102
  %v107 = load <8 x i32>, ptr %s45, align 4
  %v108 = select <8 x i1> %v82, <8 x i32> %v105, <8 x i32> %v107
  store <8 x i32> %v108, ptr %s45, align 4
  %v109 = load <8 x i32>, ptr %s46, align 4
  %v110 = select <8 x i1> %v83, <8 x i32> %v106, <8 x i32> %v109
  store <8 x i32> %v110, ptr %s46, align 4
  br label %latch57
latch57:
  %v111 = icmp slt <8 x i32> %v72, %v63
  %v112 = icmp slt <8 x i32> %v73, %v66
  %v113 = load <8 x i1>, ptr %s67, align 8
  %v114 = load <8 x i1>, ptr %s68, align 8
  %v115 = and <8 x i1> %v113, %v111
  %v116 = and <8 x i1> %v114, %v112
  store <8 x i1> %v115, ptr %s67, align 8
  store <8 x i1> %v116, ptr %s68, align 8
  %v117 = add <8 x i32> %v72, splat (i32 5)
  store <8 x i32> %v117, ptr %s59, align 64
  %v118 = add <8 x i32> %v73, splat (i32 5)
  store <8 x i32> %v118, ptr %s60, align 64
  br label %head55
done58:
  %v119 = load <8 x i32>, ptr %s45, align 4
  %v120 = load <8 x i32>, ptr %s46, align 4
  %v121 = mul i64 %i34, 4
  %v122 = getelementptr i8, ptr %v4, i64 %v121
  call void @llvm.masked.store.v8i32.p0(<8 x i32> %v119, ptr align 4 %v122, <8 x i1> %v42), !alias.scope !7, !noalias !8
  %v123 = getelementptr i8, ptr %v122, i64 32
  call void @llvm.masked.store.v8i32.p0(<8 x i32> %v120, ptr align 4 %v123, <8 x i1> %v43), !alias.scope !7, !noalias !8
  br label %latch32
latch32:
  %n35 = add nsw i64 %i34, 16
  %v124 = icmp ugt i64 %v37, 16
  br i1 %v124, label %body31, label %done33
done33:
  %v125 = icmp slt i64 %q17, %v11
  br i1 %v125, label %stretch12, label %done15, !prof !0
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
  %v4 = getelementptr inbounds i8, ptr %s3, i64 0
  store i64 0, ptr %v4, align 8
  %v5 = getelementptr inbounds i8, ptr %s3, i64 8
  store i64 %v2, ptr %v5, align 8
  %v6 = sub nsw i64 %v2, 0
  %v7 = call i64 @llvm.smax.i64(i64 %v6, i64 0)
  %v8 = add i64 %v7, 15
  %v9 = udiv i64 %v8, 16
  %v10 = mul nsw i64 16, 26
  %v11 = call i64 @llvm.smax.i64(i64 %v10, i64 1)
  %v12 = udiv i64 40000, %v11
  %v13 = add i64 %v12, 1
  %v14 = icmp sle i64 %v9, %v13
  br i1 %v14, label %here15, label %shared16
here15:
  call void @weft_task0(ptr %ctx, ptr %s3, i64 0, i64 %v9)
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
  call void %v25(i64 %v21, ptr @weft_task0, ptr %ctx, ptr %s3, i64 %v9, i64 %v13)
  br label %done17
done17:
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
