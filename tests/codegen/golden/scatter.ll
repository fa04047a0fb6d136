; a golden module


declare i64 @llvm.smax.i64(i64, i64)
declare i64 @llvm.smin.i64(i64, i64)
declare i64 @llvm.umin.i64(i64, i64)
declare <8 x float> @llvm.masked.load.v8f32.p0(ptr, <8 x i1>, <8 x float>)
declare i8 @llvm.cttz.i8(i8, i1)
declare <4 x float> @llvm.masked.load.v4f32.p0(ptr, <4 x i1>, <4 x float>)

define internal void @weft_task0(ptr noalias %ctx, ptr noalias %box, i64 %begin, i64 %end) noinline nounwind "reciprocal-estimates"="none" {
entry:
  %s120 = alloca <8 x ptr>, align 64
  %s121 = alloca <8 x float>, align 64
  %s122 = alloca <8 x float>, align 64
  %s123 = alloca <8 x float>, align 64
  %s124 = alloca <8 x ptr>, align 64
  %s125 = alloca <8 x float>, align 64
  br label %start
start:
  %v1 = getelementptr inbounds i8, ptr %ctx, i64 24
  %v2 = load ptr, ptr %v1, align 8, !invariant.load !{}
  %v3 = getelementptr inbounds i8, ptr %ctx, i64 32
  %v4 = load ptr, ptr %v3, align 8, !invariant.load !{}
  %v5 = getelementptr inbounds i8, ptr %ctx, i64 40
  %v6 = load ptr, ptr %v5, align 8, !invariant.load !{}
  %v8 = mul i64 %begin, 8
  %v9 = add i64 0, %v8
  %v10 = mul i64 %end, 8
  %v11 = add i64 0, %v10
  %v12 = call i64 @llvm.smin.i64(i64 %v11, i64 100)
  %v19 = icmp slt i64 %v9, %v12
  br i1 %v19, label %enter13, label %done16
enter13:
  br label %body14
body14:
  %i17 = phi i64 [ %v9, %enter13 ], [ %n18, %latch15 ]
  %v20 = sub i64 %v12, %i17
  %v21 = call i64 @llvm.umin.i64(i64 %v20, i64 8)
  %v22 = trunc i64 %v21 to i32
  %v23 = insertelement <8 x i32> poison, i32 %v22, i64 0
  %v24 = shufflevector <8 x i32> %v23, <8 x i32> poison, <8 x i32> zeroinitializer
  %v25 = icmp ult <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %v24
  %v26 = mul i64 %i17, 4
  %v27 = getelementptr i8, ptr %v2, i64 %v26
  %v28 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %v27, <8 x i1> %v25, <8 x float> zeroinitializer), !alias.scope !7, !noalias !8
  %v29 = fmul reassoc arcp contract afn <8 x float> %v28, splat (float 0x4020000000000000)
  %v30 = fcmp ord <8 x float> %v29, %v29
  %v31 = select <8 x i1> %v30, <8 x float> %v29, <8 x float> splat (float 0x0000000000000000)
  %v32 = fcmp ogt <8 x float> %v31, splat (float 0xC1E0000000000000)
  %v33 = select <8 x i1> %v32, <8 x float> %v31, <8 x float> splat (float 0xC1E0000000000000)
  %v34 = fcmp olt <8 x float> %v33, splat (float 0x41DFFFFFE0000000)
  %v35 = select <8 x i1> %v34, <8 x float> %v33, <8 x float> splat (float 0x41DFFFFFE0000000)
  %v36 = fptosi <8 x float> %v35 to <8 x i32>
  %v37 = fcmp ogt <8 x float> %v31, splat (float 0x41DFFFFFE0000000)
  %v38 = select <8 x i1> %v37, <8 x i32> splat (i32 2147483647), <8 x i32> %v36
  %v39 = sext <8 x i32> %v38 to <8 x i64>
  %v40 = mul <8 x i32> %v38, splat (i32 12)
  %v41 = sext <8 x i32> %v40 to <8 x i64>
  %v42 = getelementptr i8, ptr %v4, <8 x i64> %v41
  %v43 = getelementptr i8, <8 x ptr> %v42, i64 4
  %v44 = getelementptr i8, <8 x ptr> %v42, i64 8
  %v45 = bitcast <8 x i1> %v25 to i8
  %v46 = call i8 @llvm.cttz.i8(i8 %v45, i1 false)
  %v47 = and i8 %v46, 7
  %v48 = zext i8 %v47 to i64
  %v49 = extractelement <8 x ptr> %v42, i64 %v48
  %v50 = insertelement <8 x ptr> poison, ptr %v49, i64 0
  %v51 = shufflevector <8 x ptr> %v50, <8 x ptr> poison, <8 x i32> zeroinitializer
  %v52 = select <8 x i1> %v25, <8 x ptr> %v42, <8 x ptr> %v51
  %v53 = extractelement <8 x ptr> %v52, i64 0
  %v54 = extractelement <8 x ptr> %v52, i64 1
  %v55 = extractelement <8 x ptr> %v52, i64 2
  %v56 = extractelement <8 x ptr> %v52, i64 3
  %v57 = extractelement <8 x ptr> %v52, i64 4
  %v58 = extractelement <8 x ptr> %v52, i64 5
  %v59 = extractelement <8 x ptr> %v52, i64 6
  %v60 = extractelement <8 x ptr> %v52, i64 7
  %v61 = call <4 x float> @llvm.masked.load.v4f32.p0(ptr align 4 %v53, <4 x i1> <i1 true, i1 true, i1 true, i1 false>, <4 x float> zeroinitializer), !alias.scope !9, !noalias !10
  %v62 = call <4 x float> @llvm.masked.load.v4f32.p0(ptr align 4 %v54, <4 x i1> <i1 true, i1 true, i1 true, i1 false>, <4 x float> zeroinitializer), !alias.scope !9, !noalias !10
  %v63 = call <4 x float> @llvm.masked.load.v4f32.p0(ptr align 4 %v55, <4 x i1> <i1 true, i1 true, i1 true, i1 false>, <4 x float> zeroinitializer), !alias.scope !9, !noalias !10
  %v64 = call <4 x float> @llvm.masked.load.v4f32.p0(ptr align 4 %v56, <4 x i1> <i1 true, i1 true, i1 true, i1 false>, <4 x float> zeroinitializer), !alias.scope !9, !noalias !10
  %v65 = call <4 x float> @llvm.masked.load.v4f32.p0(ptr align 4 %v57, <4 x i1> <i1 true, i1 true, i1 true, i1 false>, <4 x float> zeroinitializer), !alias.scope !9, !noalias !10
  %v66 = call <4 x float> @llvm.masked.load.v4f32.p0(ptr align 4 %v58, <4 x i1> <i1 true, i1 true, i1 true, i1 false>, <4 x float> zeroinitializer), !alias.scope !9, !noalias !10
  %v67 = call <4 x float> @llvm.masked.load.v4f32.p0(ptr align 4 %v59, <4 x i1> <i1 true, i1 true, i1 true, i1 false>, <4 x float> zeroinitializer), !alias.scope !9, !noalias !10
  %v68 = call <4 x float> @llvm.masked.load.v4f32.p0(ptr align 4 %v60, <4 x i1> <i1 true, i1 true, i1 true, i1 false>, <4 x float> zeroinitializer), !alias.scope !9, !noalias !10
  %v69 = shufflevector <4 x float> %v61, <4 x float> %v62, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %v70 = shufflevector <4 x float> %v63, <4 x float> %v64, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %v71 = shufflevector <4 x float> %v65, <4 x float> %v66, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %v72 = shufflevector <4 x float> %v67, <4 x float> %v68, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %v73 = shufflevector <8 x float> %v69, <8 x float> %v70, <8 x i32> <i32 0, i32 4, i32 8, i32 12, i32 1, i32 5, i32 9, i32 13>
  %v74 = shufflevector <8 x float> %v71, <8 x float> %v72, <8 x i32> <i32 0, i32 4, i32 8, i32 12, i32 1, i32 5, i32 9, i32 13>
  %v75 = shufflevector <8 x float> %v69, <8 x float> %v70, <8 x i32> <i32 2, i32 6, i32 10, i32 14, i32 3, i32 7, i32 11, i32 15>
  %v76 = shufflevector <8 x float> %v71, <8 x float> %v72, <8 x i32> <i32 2, i32 6, i32 10, i32 14, i32 3, i32 7, i32 11, i32 15>
  %v77 = shufflevector <8 x float> %v73, <8 x float> %v74, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 8, i32 9, i32 10, i32 11>
  %v78 = shufflevector <8 x float> %v73, <8 x float> %v74, <8 x i32> <i32 4, i32 5, i32 6, i32 7, i32 12, i32 13, i32 14, i32 15>
  %v79 = shufflevector <8 x float> %v75, <8 x float> %v76, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 8, i32 9, i32 10, i32 11>
  %v80 = getelementptr i8, <8 x ptr> %v42, i64 12
  %v81 = getelementptr i8, <8 x ptr> %v80, i64 4
  %v82 = getelementptr i8, <8 x ptr> %v80, i64 8
  %v83 = getelementptr i8, ptr %v53, i64 12
  %v84 = getelementptr i8, ptr %v54, i64 12
  %v85 = getelementptr i8, ptr %v55, i64 12
  %v86 = getelementptr i8, ptr %v56, i64 12
  %v87 = getelementptr i8, ptr %v57, i64 12
  %v88 = getelementptr i8, ptr %v58, i64 12
  %v89 = getelementptr i8, ptr %v59, i64 12
  %v90 = getelementptr i8, ptr %v60, i64 12
  %v91 = call <4 x float> @llvm.masked.load.v4f32.p0(ptr align 4 %v83, <4 x i1> <i1 true, i1 true, i1 true, i1 false>, <4 x float> zeroinitializer), !alias.scope !9, !noalias !10
  %v92 = call <4 x float> @llvm.masked.load.v4f32.p0(ptr align 4 %v84, <4 x i1> <i1 true, i1 true, i1 true, i1 false>, <4 x float> zeroinitializer), !alias.scope !9, !noalias !10
  %v93 = call <4 x float> @llvm.masked.load.v4f32.p0(ptr align 4 %v85, <4 x i1> <i1 true, i1 true, i1 true, i1 false>, <4 x float> zeroinitializer), !alias.scope !9, !noalias !10
  %v94 = call <4 x float> @llvm.masked.load.v4f32.p0(ptr align 4 %v86, <4 x i1> <i1 true, i1 true, i1 true, i1 false>, <4 x float> zeroinitializer), !alias.scope !9, !noalias !10
  %v95 = call <4 x float> @llvm.masked.load.v4f32.p0(ptr align 4 %v87, <4 x i1> <i1 true, i1 true, i1 true, i1 false>, <4 x float> zeroinitializer), !alias.scope !9, !noalias !10
  %v96 = call <4 x float> @llvm.masked.load.v4f32.p0(ptr align 4 %v88, <4 x i1> <i1 true, i1 true, i1 true, i1 false>, <4 x float> zeroinitializer), !alias.scope !9, !noalias !10
  %v97 = call <4 x float> @llvm.masked.load.v4f32.p0(ptr align 4 %v89, <4 x i1> <i1 true, i1 true, i1 true, i1 false>, <4 x float> zeroinitializer), !alias.scope !9, !noalias !10
  %v98 = call <4 x float> @llvm.masked.load.v4f32.p0(ptr align 4 %v90, <4 x i1> <i1 true, i1 true, i1 true, i1 false>, <4 x float> zeroinitializer), !alias.scope !9, !noalias !10
  %v99 = shufflevector <4 x float> %v91, <4 x float> %v92, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %v100 = shufflevector <4 x float> %v93, <4 x float> %v94, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %v101 = shufflevector <4 x float> %v95, <4 x float> %v96, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %v102 = shufflevector <4 x float> %v97, <4 x float> %v98, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %v103 = shufflevector <8 x float> %v99, <8 x float> %v100, <8 x i32> <i32 0, i32 4, i32 8, i32 12, i32 1, i32 5, i32 9, i32 13>
  %v104 = shufflevector <8 x float> %v101, <8 x float> %v102, <8 x i32> <i32 0, i32 4, i32 8, i32 12, i32 1, i32 5, i32 9, i32 13>
  %v105 = shufflevector <8 x float> %v99, <8 x float> %v100, <8 x i32> <i32 2, i32 6, i32 10, i32 14, i32 3, i32 7, i32 11, i32 15>
  %v106 = shufflevector <8 x float> %v101, <8 x float> %v102, <8 x i32> <i32 2, i32 6, i32 10, i32 14, i32 3, i32 7, i32 11, i32 15>
  %v107 = shufflevector <8 x float> %v103, <8 x float> %v104, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 8, i32 9, i32 10, i32 11>
  %v108 = shufflevector <8 x float> %v103, <8 x float> %v104, <8 x i32> <i32 4, i32 5, i32 6, i32 7, i32 12, i32 13, i32 14, i32 15>
  %v109 = shufflevector <8 x float> %v105, <8 x float> %v106, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 8, i32 9, i32 10, i32 11>
  %v110 = fadd reassoc arcp contract afn <8 x float> %v77, %v107
  %v111 = fadd reassoc arcp contract afn <8 x float> %v78, %v108
  %v112 = fadd reassoc arcp contract afn <8 x float> %v79, %v109
  %v113 = fmul reassoc arcp contract afn <8 x float> %v28, %v110
  %v114 = fmul reassoc arcp contract afn <8 x float> %v28, %v111
  %v115 = fmul reassoc arcp contract afn <8 x float> %v28, %v112
  %v116 = mul <8 x i32> %v38, splat (i32 4)
  %v117 = sext <8 x i32> %v116 to <8 x i64>
  %v118 = getelementptr i8, ptr %v6, <8 x i64> %v117
  %v119 = getelementptr i8, <8 x ptr> %v118, i64 4
  store <8 x ptr> %v42, ptr %s120, align 64
  store <8 x float> %v113, ptr %s121, align 64
  store <8 x float> %v114, ptr %s122, align 64
  store <8 x float> %v115, ptr %s123, align 64
  store <8 x ptr> %v118, ptr %s124, align 64
  store <8 x float> %v28, ptr %s125, align 64
  %v129 = bitcast <8 x i1> %v25 to i8
  br label %lane126
lane126:
  %left130 = phi i8 [ %v129, %body14 ], [ %rest131, %latch127 ]
  %v132 = call i8 @llvm.cttz.i8(i8 %left130, i1 true)
  %v133 = zext i8 %v132 to i64
  %v134 = getelementptr ptr, ptr %s120, i64 %v133
  %v135 = load ptr, ptr %v134
  %v136 = getelementptr float, ptr %s121, i64 %v133
  %v137 = load float, ptr %v136
  %v138 = atomicrmw fadd ptr %v135, float %v137 monotonic
  %v139 = getelementptr i8, ptr %v135, i64 4
  %v140 = getelementptr float, ptr %s122, i64 %v133
  %v141 = load float, ptr %v140
  %v142 = atomicrmw fadd ptr %v139, float %v141 monotonic
  %v143 = getelementptr i8, ptr %v135, i64 8
  %v144 = getelementptr float, ptr %s123, i64 %v133
  %v145 = load float, ptr %v144
  %v146 = atomicrmw fadd ptr %v143, float %v145 monotonic
  %v147 = getelementptr ptr, ptr %s124, i64 %v133
  %v148 = load ptr, ptr %v147
  %v149 = getelementptr float, ptr %s125, i64 %v133
  %v150 = load float, ptr %v149
  %v151 = atomicrmw fadd ptr %v148, float %v150 monotonic
  %v152 = getelementptr i8, ptr %v135, i64 12
  %v153 = atomicrmw fadd ptr %v152, float %v137 monotonic
  %v154 = getelementptr i8, ptr %v135, i64 16
  %v155 = atomicrmw fadd ptr %v154, float %v141 monotonic
  %v156 = getelementptr i8, ptr %v135, i64 20
  %v157 = atomicrmw fadd ptr %v156, float %v145 monotonic
  %v158 = getelementptr i8, ptr %v148, i64 4
  %v159 = atomicrmw fadd ptr %v158, float %v150 monotonic
  br label %latch127
latch127:
  %v160 = sub i8 %left130, 1
  %rest131 = and i8 %left130, %v160
  %v161 = icmp ne i8 %rest131, 0
  br i1 %v161, label %lane126, label %done128
done128:
  br label %latch15
latch15:
  %n18 = add nsw i64 %i17, 8
  %v162 = icmp ugt i64 %v20, 8
  br i1 %v162, label %body14, label %done16
done16:
  br label %exit
exit:
  ret void
}

define internal void @weft_task0_plain(ptr noalias %ctx, ptr noalias %box, i64 %begin, i64 %end) noinline nounwind "reciprocal-estimates"="none" {
entry:
  %s120 = alloca <8 x ptr>, align 64
  %s121 = alloca <8 x float>, align 64
  %s122 = alloca <8 x float>, align 64
  %s123 = alloca <8 x float>, align 64
  %s124 = alloca <8 x ptr>, align 64
  %s125 = alloca <8 x float>, align 64
  br label %start
start:
  %v1 = getelementptr inbounds i8, ptr %ctx, i64 24
  %v2 = load ptr, ptr %v1, align 8, !invariant.load !{}
  %v3 = getelementptr inbounds i8, ptr %ctx, i64 32
  %v4 = load ptr, ptr %v3, align 8, !invariant.load !{}
  %v5 = getelementptr inbounds i8, ptr %ctx, i64 40
  %v6 = load ptr, ptr %v5, align 8, !invariant.load !{}
  %v8 = mul i64 %begin, 8
  %v9 = add i64 0, %v8
  %v10 = mul i64 %end, 8
  %v11 = add i64 0, %v10
  %v12 = call i64 @llvm.smin.i64(i64 %v11, i64 100)
  %v19 = icmp slt i64 %v9, %v12
  br i1 %v19, label %enter13, label %done16
enter13:
  br label %body14
body14:
  %i17 = phi i64 [ %v9, %enter13 ], [ %n18, %latch15 ]
  %v20 = sub i64 %v12, %i17
  %v21 = call i64 @llvm.umin.i64(i64 %v20, i64 8)
  %v22 = trunc i64 %v21 to i32
  %v23 = insertelement <8 x i32> poison, i32 %v22, i64 0
  %v24 = shufflevector <8 x i32> %v23, <8 x i32> poison, <8 x i32> zeroinitializer
  %v25 = icmp ult <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %v24
  %v26 = mul i64 %i17, 4
  %v27 = getelementptr i8, ptr %v2, i64 %v26
  %v28 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %v27, <8 x i1> %v25, <8 x float> zeroinitializer), !alias.scope !7, !noalias !8
  %v29 = fmul reassoc arcp contract afn <8 x float> %v28, splat (float 0x4020000000000000)
  %v30 = fcmp ord <8 x float> %v29, %v29
  %v31 = select <8 x i1> %v30, <8 x float> %v29, <8 x float> splat (float 0x0000000000000000)
  %v32 = fcmp ogt <8 x float> %v31, splat (float 0xC1E0000000000000)
  %v33 = select <8 x i1> %v32, <8 x float> %v31, <8 x float> splat (float 0xC1E0000000000000)
  %v34 = fcmp olt <8 x float> %v33, splat (float 0x41DFFFFFE0000000)
  %v35 = select <8 x i1> %v34, <8 x float> %v33, <8 x float> splat (float 0x41DFFFFFE0000000)
  %v36 = fptosi <8 x float> %v35 to <8 x i32>
  %v37 = fcmp ogt <8 x float> %v31, splat (float 0x41DFFFFFE0000000)
  %v38 = select <8 x i1> %v37, <8 x i32> splat (i32 2147483647), <8 x i32> %v36
  %v39 = sext <8 x i32> %v38 to <8 x i64>
  %v40 = mul <8 x i32> %v38, splat (i32 12)
  %v41 = sext <8 x i32> %v40 to <8 x i64>
  %v42 = getelementptr i8, ptr %v4, <8 x i64> %v41
  %v43 = getelementptr i8, <8 x ptr> %v42, i64 4
  %v44 = getelementptr i8, <8 x ptr> %v42, i64 8
  %v45 = bitcast <8 x i1> %v25 to i8
  %v46 = call i8 @llvm.cttz.i8(i8 %v45, i1 false)
  %v47 = and i8 %v46, 7
  %v48 = zext i8 %v47 to i64
  %v49 = extractelement <8 x ptr> %v42, i64 %v48
  %v50 = insertelement <8 x ptr> poison, ptr %v49, i64 0
  %v51 = shufflevector <8 x ptr> %v50, <8 x ptr> poison, <8 x i32> zeroinitializer
  %v52 = select <8 x i1> %v25, <8 x ptr> %v42, <8 x ptr> %v51
  %v53 = extractelement <8 x ptr> %v52, i64 0
  %v54 = extractelement <8 x ptr> %v52, i64 1
  %v55 = extractelement <8 x ptr> %v52, i64 2
  %v56 = extractelement <8 x ptr> %v52, i64 3
  %v57 = extractelement <8 x ptr> %v52, i64 4
  %v58 = extractelement <8 x ptr> %v52, i64 5
  %v59 = extractelement <8 x ptr> %v52, i64 6
  %v60 = extractelement <8 x ptr> %v52, i64 7
  %v61 = call <4 x float> @llvm.masked.load.v4f32.p0(ptr align 4 %v53, <4 x i1> <i1 true, i1 true, i1 true, i1 false>, <4 x float> zeroinitializer), !alias.scope !9, !noalias !10
  %v62 = call <4 x float> @llvm.masked.load.v4f32.p0(ptr align 4 %v54, <4 x i1> <i1 true, i1 true, i1 true, i1 false>, <4 x float> zeroinitializer), !alias.scope !9, !noalias !10
  %v63 = call <4 x float> @llvm.masked.load.v4f32.p0(ptr align 4 %v55, <4 x i1> <i1 true, i1 true, i1 true, i1 false>, <4 x float> zeroinitializer), !alias.scope !9, !noalias !10
  %v64 = call <4 x float> @llvm.masked.load.v4f32.p0(ptr align 4 %v56, <4 x i1> <i1 true, i1 true, i1 true, i1 false>, <4 x float> zeroinitializer), !alias.scope !9, !noalias !10
  %v65 = call <4 x float> @llvm.masked.load.v4f32.p0(ptr align 4 %v57, <4 x i1> <i1 true, i1 true, i1 true, i1 false>, <4 x float> zeroinitializer), !alias.scope !9, !noalias !10
  %v66 = call <4 x float> @llvm.masked.load.v4f32.p0(ptr align 4 %v58, <4 x i1> <i1 true, i1 true, i1 true, i1 false>, <4 x float> zeroinitializer), !alias.scope !9, !noalias !10
  %v67 = call <4 x float> @llvm.masked.load.v4f32.p0(ptr align 4 %v59, <4 x i1> <i1 true, i1 true, i1 true, i1 false>, <4 x float> zeroinitializer), !alias.scope !9, !noalias !10
  %v68 = call <4 x float> @llvm.masked.load.v4f32.p0(ptr align 4 %v60, <4 x i1> <i1 true, i1 true, i1 true, i1 false>, <4 x float> zeroinitializer), !alias.scope !9, !noalias !10
  %v69 = shufflevector <4 x float> %v61, <4 x float> %v62, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %v70 = shufflevector <4 x float> %v63, <4 x float> %v64, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %v71 = shufflevector <4 x float> %v65, <4 x float> %v66, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %v72 = shufflevector <4 x float> %v67, <4 x float> %v68, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %v73 = shufflevector <8 x float> %v69, <8 x float> %v70, <8 x i32> <i32 0, i32 4, i32 8, i32 12, i32 1, i32 5, i32 9, i32 13>
  %v74 = shufflevector <8 x float> %v71, <8 x float> %v72, <8 x i32> <i32 0, i32 4, i32 8, i32 12, i32 1, i32 5, i32 9, i32 13>
  %v75 = shufflevector <8 x float> %v69, <8 x float> %v70, <8 x i32> <i32 2, i32 6, i32 10, i32 14, i32 3, i32 7, i32 11, i32 15>
  %v76 = shufflevector <8 x float> %v71, <8 x float> %v72, <8 x i32> <i32 2, i32 6, i32 10, i32 14, i32 3, i32 7, i32 11, i32 15>
  %v77 = shufflevector <8 x float> %v73, <8 x float> %v74, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 8, i32 9, i32 10, i32 11>
  %v78 = shufflevector <8 x float> %v73, <8 x float> %v74, <8 x i32> <i32 4, i32 5, i32 6, i32 7, i32 12, i32 13, i32 14, i32 15>
  %v79 = shufflevector <8 x float> %v75, <8 x float> %v76, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 8, i32 9, i32 10, i32 11>
  %v80 = getelementptr i8, <8 x ptr> %v42, i64 12
  %v81 = getelementptr i8, <8 x ptr> %v80, i64 4
  %v82 = getelementptr i8, <8 x ptr> %v80, i64 8
  %v83 = getelementptr i8, ptr %v53, i64 12
  %v84 = getelementptr i8, ptr %v54, i64 12
  %v85 = getelementptr i8, ptr %v55, i64 12
  %v86 = getelementptr i8, ptr %v56, i64 12
  %v87 = getelementptr i8, ptr %v57, i64 12
  %v88 = getelementptr i8, ptr %v58, i64 12
  %v89 = getelementptr i8, ptr %v59, i64 12
  %v90 = getelementptr i8, ptr %v60, i64 12
  %v91 = call <4 x float> @llvm.masked.load.v4f32.p0(ptr align 4 %v83, <4 x i1> <i1 true, i1 true, i1 true, i1 false>, <4 x float> zeroinitializer), !alias.scope !9, !noalias !10
  %v92 = call <4 x float> @llvm.masked.load.v4f32.p0(ptr align 4 %v84, <4 x i1> <i1 true, i1 true, i1 true, i1 false>, <4 x float> zeroinitializer), !alias.scope !9, !noalias !10
  %v93 = call <4 x float> @llvm.masked.load.v4f32.p0(ptr align 4 %v85, <4 x i1> <i1 true, i1 true, i1 true, i1 false>, <4 x float> zeroinitializer), !alias.scope !9, !noalias !10
  %v94 = call <4 x float> @llvm.masked.load.v4f32.p0(ptr align 4 %v86, <4 x i1> <i1 true, i1 true, i1 true, i1 false>, <4 x float> zeroinitializer), !alias.scope !9, !noalias !10
  %v95 = call <4 x float> @llvm.masked.load.v4f32.p0(ptr align 4 %v87, <4 x i1> <i1 true, i1 true, i1 true, i1 false>, <4 x float> zeroinitializer), !alias.scope !9, !noalias !10
  %v96 = call <4 x float> @llvm.masked.load.v4f32.p0(ptr align 4 %v88, <4 x i1> <i1 true, i1 true, i1 true, i1 false>, <4 x float> zeroinitializer), !alias.scope !9, !noalias !10
  %v97 = call <4 x float> @llvm.masked.load.v4f32.p0(ptr align 4 %v89, <4 x i1> <i1 true, i1 true, i1 true, i1 false>, <4 x float> zeroinitializer), !alias.scope !9, !noalias !10
  %v98 = call <4 x float> @llvm.masked.load.v4f32.p0(ptr align 4 %v90, <4 x i1> <i1 true, i1 true, i1 true, i1 false>, <4 x float> zeroinitializer), !alias.scope !9, !noalias !10
  %v99 = shufflevector <4 x float> %v91, <4 x float> %v92, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %v100 = shufflevector <4 x float> %v93, <4 x float> %v94, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %v101 = shufflevector <4 x float> %v95, <4 x float> %v96, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %v102 = shufflevector <4 x float> %v97, <4 x float> %v98, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %v103 = shufflevector <8 x float> %v99, <8 x float> %v100, <8 x i32> <i32 0, i32 4, i32 8, i32 12, i32 1, i32 5, i32 9, i32 13>
  %v104 = shufflevector <8 x float> %v101, <8 x float> %v102, <8 x i32> <i32 0, i32 4, i32 8, i32 12, i32 1, i32 5, i32 9, i32 13>
  %v105 = shufflevector <8 x float> %v99, <8 x float> %v100, <8 x i32> <i32 2, i32 6, i32 10, i32 14, i32 3, i32 7, i32 11, i32 15>
  %v106 = shufflevector <8 x float> %v101, <8 x float> %v102, <8 x i32> <i32 2, i32 6, i32 10, i32 14, i32 3, i32 7, i32 11, i32 15>
  %v107 = shufflevector <8 x float> %v103, <8 x float> %v104, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 8, i32 9, i32 10, i32 11>
  %v108 = shufflevector <8 x float> %v103, <8 x float> %v104, <8 x i32> <i32 4, i32 5, i32 6, i32 7, i32 12, i32 13, i32 14, i32 15>
  %v109 = shufflevector <8 x float> %v105, <8 x float> %v106, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 8, i32 9, i32 10, i32 11>
  %v110 = fadd reassoc arcp contract afn <8 x float> %v77, %v107
  %v111 = fadd reassoc arcp contract afn <8 x float> %v78, %v108
  %v112 = fadd reassoc arcp contract afn <8 x float> %v79, %v109
  %v113 = fmul reassoc arcp contract afn <8 x float> %v28, %v110
  %v114 = fmul reassoc arcp contract afn <8 x float> %v28, %v111
  %v115 = fmul reassoc arcp contract afn <8 x float> %v28, %v112
  %v116 = mul <8 x i32> %v38, splat (i32 4)
  %v117 = sext <8 x i32> %v116 to <8 x i64>
  %v118 = getelementptr i8, ptr %v6, <8 x i64> %v117
  %v119 = getelementptr i8, <8 x ptr> %v118, i64 4
  store <8 x ptr> %v42, ptr %s120, align 64
  store <8 x float> %v113, ptr %s121, align 64
  store <8 x float> %v114, ptr %s122, align 64
  store <8 x float> %v115, ptr %s123, align 64
  store <8 x ptr> %v118, ptr %s124, align 64
  store <8 x float> %v28, ptr %s125, align 64
  %v129 = bitcast <8 x i1> %v25 to i8
  br label %lane126
lane126:
  %left130 = phi i8 [ %v129, %body14 ], [ %rest131, %latch127 ]
  %v132 = call i8 @llvm.cttz.i8(i8 %left130, i1 true)
  %v133 = zext i8 %v132 to i64
  %v134 = getelementptr ptr, ptr %s120, i64 %v133
  %v135 = load ptr, ptr %v134
  %v136 = getelementptr float, ptr %s121, i64 %v133
  %v137 = load float, ptr %v136
  %v138 = load float, ptr %v135, align 4, !alias.scope !11, !noalias !12
  %v139 = fadd reassoc arcp contract afn float %v138, %v137
  store float %v139, ptr %v135, align 4, !alias.scope !11, !noalias !12
  %v140 = getelementptr i8, ptr %v135, i64 4
  %v141 = getelementptr float, ptr %s122, i64 %v133
  %v142 = load float, ptr %v141
  %v143 = load float, ptr %v140, align 4, !alias.scope !13, !noalias !14
  %v144 = fadd reassoc arcp contract afn float %v143, %v142
  store float %v144, ptr %v140, align 4, !alias.scope !13, !noalias !14
  %v145 = getelementptr i8, ptr %v135, i64 8
  %v146 = getelementptr float, ptr %s123, i64 %v133
  %v147 = load float, ptr %v146
  %v148 = load float, ptr %v145, align 4, !alias.scope !15, !noalias !16
  %v149 = fadd reassoc arcp contract afn float %v148, %v147
  store float %v149, ptr %v145, align 4, !alias.scope !15, !noalias !16
  %v150 = getelementptr ptr, ptr %s124, i64 %v133
  %v151 = load ptr, ptr %v150
  %v152 = getelementptr float, ptr %s125, i64 %v133
  %v153 = load float, ptr %v152
  %v154 = load float, ptr %v151, align 4, !alias.scope !17, !noalias !18
  %v155 = fadd reassoc arcp contract afn float %v154, %v153
  store float %v155, ptr %v151, align 4, !alias.scope !17, !noalias !18
  %v156 = getelementptr i8, ptr %v135, i64 12
  %v157 = load float, ptr %v156, align 4, !alias.scope !11, !noalias !12
  %v158 = fadd reassoc arcp contract afn float %v157, %v137
  store float %v158, ptr %v156, align 4, !alias.scope !11, !noalias !12
  %v159 = getelementptr i8, ptr %v135, i64 16
  %v160 = load float, ptr %v159, align 4, !alias.scope !13, !noalias !14
  %v161 = fadd reassoc arcp contract afn float %v160, %v142
  store float %v161, ptr %v159, align 4, !alias.scope !13, !noalias !14
  %v162 = getelementptr i8, ptr %v135, i64 20
  %v163 = load float, ptr %v162, align 4, !alias.scope !15, !noalias !16
  %v164 = fadd reassoc arcp contract afn float %v163, %v147
  store float %v164, ptr %v162, align 4, !alias.scope !15, !noalias !16
  %v165 = getelementptr i8, ptr %v151, i64 4
  %v166 = load float, ptr %v165, align 4, !alias.scope !17, !noalias !18
  %v167 = fadd reassoc arcp contract afn float %v166, %v153
  store float %v167, ptr %v165, align 4, !alias.scope !17, !noalias !18
  br label %latch127
latch127:
  %v168 = sub i8 %left130, 1
  %rest131 = and i8 %left130, %v168
  %v169 = icmp ne i8 %rest131, 0
  br i1 %v169, label %lane126, label %done128
done128:
  br label %latch15
latch15:
  %n18 = add nsw i64 %i17, 8
  %v170 = icmp ugt i64 %v20, 8
  br i1 %v170, label %body14, label %done16
done16:
  br label %exit
exit:
  ret void
}

define void @weft_entry(ptr noalias %ctx) nounwind "reciprocal-estimates"="none" {
entry:
  %s1 = alloca [2 x i64], align 8
  br label %start
start:
  %v2 = getelementptr inbounds i8, ptr %s1, i64 0
  store i64 0, ptr %v2, align 8
  %v3 = getelementptr inbounds i8, ptr %s1, i64 8
  store i64 100, ptr %v3, align 8
  %v4 = sub nsw i64 100, 0
  %v5 = call i64 @llvm.smax.i64(i64 %v4, i64 0)
  %v6 = add i64 %v5, 7
  %v7 = udiv i64 %v6, 8
  %v8 = mul nsw i64 8, 62
  %v9 = call i64 @llvm.smax.i64(i64 %v8, i64 1)
  %v10 = udiv i64 40000, %v9
  %v11 = add i64 %v10, 1
  %v12 = icmp sle i64 %v7, %v11
  br i1 %v12, label %here13, label %shared14
here13:
  call void @weft_task0_plain(ptr %ctx, ptr %s1, i64 0, i64 %v7)
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
  call void %v23(i64 %v19, ptr @weft_task0, ptr %ctx, ptr %s1, i64 %v7, i64 %v11)
  br label %done15
done15:
  br label %exit
exit:
  ret void
}

!0 = distinct !{!"fields"}
!1 = distinct !{!"field:x", !0}
!2 = distinct !{!"field:grid", !0}
!3 = distinct !{!"field:grid#0", !0}
!4 = distinct !{!"field:grid#1", !0}
!5 = distinct !{!"field:grid#2", !0}
!6 = distinct !{!"field:mass", !0}
!7 = !{!1}
!8 = !{!2, !3, !4, !5, !6}
!9 = !{!2}
!10 = !{!1, !6}
!11 = !{!3}
!12 = !{!1, !4, !5, !6}
!13 = !{!4}
!14 = !{!1, !3, !5, !6}
!15 = !{!5}
!16 = !{!1, !3, !4, !6}
!17 = !{!6}
!18 = !{!1, !2, !3, !4, !5}
