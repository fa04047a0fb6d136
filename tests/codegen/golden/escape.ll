; a golden module


declare i64 @llvm.smax.i64(i64, i64)
declare i64 @llvm.umin.i64(i64, i64)
declare void @llvm.masked.store.v8i32.p0(<8 x i32>, ptr, <8 x i1>)

define internal void @weft_task0(ptr noalias %ctx, ptr noalias %box, i64 %begin, i64 %end) noinline nounwind "reciprocal-estimates"="none" {
entry:
  %s12 = alloca i32, align 4
  %s43 = alloca <8 x float>, align 64
  %s44 = alloca <8 x float>, align 64
  %s45 = alloca i32, align 8
  %s46 = alloca <8 x i32>, align 64
  %s47 = alloca <8 x i32>, align 64
  %s48 = alloca <8 x i1>, align 64
  %s49 = alloca <8 x i1>, align 64
  %s52 = alloca i32, align 4
  %record.at = getelementptr inbounds i8, ptr %ctx, i64 8
  %record = load ptr, ptr %record.at, align 8, !invariant.load !{}
  br label %start
start:
  %v1 = getelementptr inbounds i8, ptr %ctx, i64 24
  %v2 = load ptr, ptr %v1, align 8, !invariant.load !{}
  br label %head3
head3:
  %i8 = phi i64 [ %begin, %start ], [ %n9, %latch5 ]
  %v10 = icmp slt i64 %i8, %end
  br i1 %v10, label %body4, label %done6
body4:
  %v11 = add nsw i64 0, %i8
  store i32 16, ptr %s12, align 4
  %v20 = icmp slt i64 0, 64
  br i1 %v20, label %enter13, label %done16
enter13:
  br label %body14
body14:
  %i18 = phi i64 [ 0, %enter13 ], [ %n19, %latch15 ]
  %v21 = sub i64 64, %i18
  %v22 = call i64 @llvm.umin.i64(i64 %v21, i64 16)
  %v23 = trunc i64 %v22 to i32
  %v24 = insertelement <8 x i32> poison, i32 %v23, i64 0
  %v25 = shufflevector <8 x i32> %v24, <8 x i32> poison, <8 x i32> zeroinitializer
  %v26 = icmp ult <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %v25
  %v27 = call i64 @llvm.umin.i64(i64 %v21, i64 16)
  %v28 = trunc i64 %v27 to i32
  %v29 = insertelement <8 x i32> poison, i32 %v28, i64 0
  %v30 = shufflevector <8 x i32> %v29, <8 x i32> poison, <8 x i32> zeroinitializer
  %v31 = icmp ult <8 x i32> <i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %v30
  %v32 = trunc i64 %i18 to i32
  %v33 = insertelement <8 x i32> poison, i32 %v32, i64 0
  %v34 = shufflevector <8 x i32> %v33, <8 x i32> poison, <8 x i32> zeroinitializer
  %v35 = add <8 x i32> %v34, <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %v36 = sitofp <8 x i32> %v35 to <8 x float>
  %v37 = insertelement <8 x i32> poison, i32 %v32, i64 0
  %v38 = shufflevector <8 x i32> %v37, <8 x i32> poison, <8 x i32> zeroinitializer
  %v39 = add <8 x i32> %v38, <i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %v40 = sitofp <8 x i32> %v39 to <8 x float>
  %v41 = fmul reassoc arcp contract afn <8 x float> %v36, splat (float 0x3FA0000000000000)
  %v42 = fmul reassoc arcp contract afn <8 x float> %v40, splat (float 0x3FA0000000000000)
  store <8 x float> splat (float 0x0000000000000000), ptr %s43, align 4
  store <8 x float> splat (float 0x0000000000000000), ptr %s44, align 4
  store <8 x float> %v41, ptr %s43, align 4
  store <8 x float> %v42, ptr %s44, align 4
  store i32 0, ptr %s45, align 4
  store <8 x i32> splat (i32 0), ptr %s46, align 4
  store <8 x i32> splat (i32 0), ptr %s47, align 4
  store i32 0, ptr %s45, align 4
  store <8 x i32> splat (i32 0), ptr %s46, align 4
  store <8 x i32> splat (i32 0), ptr %s47, align 4
  store <8 x i1> %v26, ptr %s48, align 1
  store <8 x i1> %v31, ptr %s49, align 1
  store i32 1024, ptr %s52, align 4
  br label %while50
while50:
  %v54 = load <8 x i1>, ptr %s48, align 1
  %v55 = load <8 x i1>, ptr %s49, align 1
  %v56 = load <8 x float>, ptr %s43, align 4
  %v57 = load <8 x float>, ptr %s44, align 4
  %v58 = fmul reassoc arcp contract afn <8 x float> %v56, %v56
  %v59 = fmul reassoc arcp contract afn <8 x float> %v57, %v57
  %v60 = load i32, ptr %s45, align 4
  %v61 = fcmp olt <8 x float> %v58, splat (float 0x4010000000000000)
  %v62 = fcmp olt <8 x float> %v59, splat (float 0x4010000000000000)
  %v63 = icmp slt i32 %v60, 100
  %v64 = insertelement <8 x i1> poison, i1 %v63, i64 0
  %v65 = shufflevector <8 x i1> %v64, <8 x i1> poison, <8 x i32> zeroinitializer
  %v66 = and <8 x i1> %v61, %v65
  %v67 = and <8 x i1> %v62, %v65
  %v68 = and <8 x i1> %v54, %v66
  %v69 = and <8 x i1> %v55, %v67
  %v70 = xor <8 x i1> %v66, splat (i1 true)
  %v71 = xor <8 x i1> %v67, splat (i1 true)
  %v72 = and <8 x i1> %v54, %v70
  %v73 = and <8 x i1> %v55, %v71
  %v74 = load <8 x i1>, ptr %s48, align 1
  %v75 = load <8 x i1>, ptr %s49, align 1
  %v76 = xor <8 x i1> %v72, splat (i1 true)
  %v77 = xor <8 x i1> %v73, splat (i1 true)
  %v78 = and <8 x i1> %v74, %v76
  %v79 = and <8 x i1> %v75, %v77
  store <8 x i1> %v78, ptr %s48, align 1
  store <8 x i1> %v79, ptr %s49, align 1
  %v80 = load <8 x i1>, ptr %s48, align 1
  %v81 = load <8 x i1>, ptr %s49, align 1
  %v82 = and <8 x i1> %v54, %v80
  %v83 = and <8 x i1> %v55, %v81
  %v84 = or <8 x i1> %v82, %v83
  %v85 = bitcast <8 x i1> %v84 to i8
  %v86 = icmp ne i8 %v85, 0
  br i1 %v86, label %then87, label %done89
then87:
  %v90 = fadd reassoc arcp contract afn <8 x float> %v58, %v41
  %v91 = fadd reassoc arcp contract afn <8 x float> %v59, %v42
  store <8 x float> %v90, ptr %s43, align 4
  store <8 x float> %v91, ptr %s44, align 4
  %v92 = add i32 %v60, 1
  store i32 %v92, ptr %s45, align 4
  %v93 = insertelement <8 x i32> poison, i32 %v92, i64 0
  %v94 = shufflevector <8 x i32> %v93, <8 x i32> poison, <8 x i32> zeroinitializer
  %v95 = load <8 x i32>, ptr %s46, align 4
  %v96 = select <8 x i1> %v82, <8 x i32> %v94, <8 x i32> %v95
  store <8 x i32> %v96, ptr %s46, align 4
  %v97 = load <8 x i32>, ptr %s47, align 4
  %v98 = select <8 x i1> %v83, <8 x i32> %v94, <8 x i32> %v97
  store <8 x i32> %v98, ptr %s47, align 4
  br label %done89
done89:
  %v99 = load <8 x i1>, ptr %s48, align 1
  %v100 = load <8 x i1>, ptr %s49, align 1
  %v101 = or <8 x i1> %v99, %v100
  %v102 = bitcast <8 x i1> %v101 to i8
  %v103 = icmp ne i8 %v102, 0
  br i1 %v103, label %then104, label %else105
then104:
  br label %done106
else105:
  br label %done51
done106:
  br label %check53
check53:
  %v109 = load i32, ptr %s52, align 4
  %v110 = sub i32 %v109, 1
  store i32 %v110, ptr %s52, align 4
  %v111 = icmp slt i32 %v110, 0
  br i1 %v111, label %now107, label %on108, !prof !2
now107:
  store i32 1024, ptr %s52, align 4
  %v114 = load atomic i64, ptr %record monotonic, align 8, !alias.scope !7, !noalias !8
  %v115 = icmp eq i64 %v114, 0
  br i1 %v115, label %on113, label %ask112, !prof !3
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
  br label %while50
done51:
  %v121 = load <8 x i32>, ptr %s46, align 4
  %v122 = load <8 x i32>, ptr %s47, align 4
  %v123 = mul i64 %v11, 256
  %v124 = mul i64 %i18, 4
  %v125 = getelementptr i8, ptr %v2, i64 %v123
  %v126 = getelementptr i8, ptr %v125, i64 %v124
  call void @llvm.masked.store.v8i32.p0(<8 x i32> %v121, ptr align 4 %v126, <8 x i1> %v26), !alias.scope !9, !noalias !10
  %v127 = getelementptr i8, ptr %v126, i64 32
  call void @llvm.masked.store.v8i32.p0(<8 x i32> %v122, ptr align 4 %v127, <8 x i1> %v31), !alias.scope !9, !noalias !10
  br label %check17
check17:
  %v130 = load i32, ptr %s12, align 4
  %v131 = sub i32 %v130, 1
  store i32 %v131, ptr %s12, align 4
  %v132 = icmp slt i32 %v131, 0
  br i1 %v132, label %now128, label %on129, !prof !2
now128:
  store i32 16, ptr %s12, align 4
  %v135 = load atomic i64, ptr %record monotonic, align 8, !alias.scope !7, !noalias !8
  %v136 = icmp eq i64 %v135, 0
  br i1 %v136, label %on134, label %ask133, !prof !3
ask133:
  %v137 = getelementptr inbounds i8, ptr %ctx, i64 0
  %v138 = load ptr, ptr %v137, align 8, !invariant.load !{}
  %v139 = getelementptr inbounds i8, ptr %v138, i64 56
  %v140 = load ptr, ptr %v139, align 8, !invariant.load !{}
  %v141 = call preserve_allcc zeroext i1 %v140(ptr %record) nounwind willreturn cold memory(inaccessiblemem: readwrite)
  br i1 %v141, label %exit, label %on134
on134:
  br label %on129
on129:
  br label %latch15
latch15:
  %n19 = add nsw i64 %i18, 16
  %v142 = icmp ugt i64 %v21, 16
  br i1 %v142, label %body14, label %done16
done16:
  br label %check7
check7:
  %v145 = load atomic i64, ptr %record monotonic, align 8, !alias.scope !7, !noalias !8
  %v146 = icmp eq i64 %v145, 0
  br i1 %v146, label %on144, label %ask143, !prof !3
ask143:
  %v147 = getelementptr inbounds i8, ptr %ctx, i64 0
  %v148 = load ptr, ptr %v147, align 8, !invariant.load !{}
  %v149 = getelementptr inbounds i8, ptr %v148, i64 56
  %v150 = load ptr, ptr %v149, align 8, !invariant.load !{}
  %v151 = call preserve_allcc zeroext i1 %v150(ptr %record) nounwind willreturn cold memory(inaccessiblemem: readwrite)
  br i1 %v151, label %exit, label %on144
on144:
  br label %latch5
latch5:
  %n9 = add nsw i64 %i8, 1
  br label %head3, !llvm.loop !1
done6:
  br label %exit
exit:
  ret void
}

define void @weft_entry(ptr noalias %ctx) nounwind "reciprocal-estimates"="none" {
entry:
  %s1 = alloca [4 x i64], align 8
  br label %start
start:
  %v2 = mul nsw i64 64, 63
  %v3 = call i64 @llvm.smax.i64(i64 %v2, i64 1)
  %v4 = udiv i64 40000, %v3
  %v5 = add i64 %v4, 1
  %v6 = icmp sle i64 64, %v5
  br i1 %v6, label %here7, label %shared8
here7:
  call void @weft_task0(ptr %ctx, ptr %s1, i64 0, i64 64)
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
  call void %v17(i64 %v13, ptr @weft_task0, ptr %ctx, ptr %s1, i64 64, i64 %v5)
  br label %done9
done9:
  br label %exit
exit:
  ret void
}

!0 = !{!"llvm.loop.unroll.disable"}
!1 = distinct !{!1, !0}
!2 = !{!"branch_weights", i32 1, i32 1000000}
!3 = !{!"branch_weights", i32 1000000, i32 1}
!4 = distinct !{!"fields"}
!5 = distinct !{!"record", !4}
!6 = distinct !{!"field:out", !4}
!7 = !{!5}
!8 = !{!6}
!9 = !{!6}
!10 = !{!5}
