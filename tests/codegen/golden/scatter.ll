; a golden module


declare i64 @llvm.smax.i64(i64, i64)
declare i64 @llvm.smin.i64(i64, i64)
declare i64 @llvm.umin.i64(i64, i64)
declare <8 x float> @llvm.masked.load.v8f32.p0(ptr, <8 x i1>, <8 x float>)
declare i8 @llvm.cttz.i8(i8, i1)
declare <4 x float> @llvm.masked.load.v4f32.p0(ptr, <4 x i1>, <4 x float>)

define internal void @weft_task0(ptr noalias %ctx, ptr noalias %box, i64 %begin, i64 %end) noinline nounwind "reciprocal-estimates"="none" {
entry:
  %s119 = alloca <8 x ptr>, align 64
  %s120 = alloca <8 x float>, align 64
  %s121 = alloca <8 x float>, align 64
  %s122 = alloca <8 x float>, align 64
  %s123 = alloca <8 x ptr>, align 64
  %s124 = alloca <8 x float>, align 64
  br label %start
start:
  %v1 = getelementptr inbounds i8, ptr %ctx, i64 24
  %v2 = load ptr, ptr %v1, align 8, !invariant.load !{}
  %v3 = getelementptr inbounds i8, ptr %ctx, i64 32
  %v4 = load ptr, ptr %v3, align 8, !invariant.load !{}
  %v5 = getelementptr inbounds i8, ptr %ctx, i64 40
  %v6 = load ptr, ptr %v5, align 8, !invariant.load !{}
  %v7 = mul i64 %begin, 8
  %v8 = add i64 0, %v7
  %v9 = mul i64 %end, 8
  %v10 = add i64 0, %v9
  %v11 = call i64 @llvm.smin.i64(i64 %v10, i64 100)
  %v18 = icmp slt i64 %v8, %v11
  br i1 %v18, label %enter12, label %done15
enter12:
  br label %body13
body13:
  %i16 = phi i64 [ %v8, %enter12 ], [ %n17, %latch14 ]
  %v19 = sub i64 %v11, %i16
  %v20 = call i64 @llvm.umin.i64(i64 %v19, i64 8)
  %v21 = trunc i64 %v20 to i32
  %v22 = insertelement <8 x i32> poison, i32 %v21, i64 0
  %v23 = shufflevector <8 x i32> %v22, <8 x i32> poison, <8 x i32> zeroinitializer
  %v24 = icmp ult <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %v23
  %v25 = mul i64 %i16, 4
  %v26 = getelementptr i8, ptr %v2, i64 %v25
  %v27 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %v26, <8 x i1> %v24, <8 x float> zeroinitializer), !alias.scope !7, !noalias !8
  %v28 = fmul reassoc arcp contract afn <8 x float> %v27, splat (float 0x4020000000000000)
  %v29 = fcmp ord <8 x float> %v28, %v28
  %v30 = select <8 x i1> %v29, <8 x float> %v28, <8 x float> splat (float 0x0000000000000000)
  %v31 = fcmp ogt <8 x float> %v30, splat (float 0xC1E0000000000000)
  %v32 = select <8 x i1> %v31, <8 x float> %v30, <8 x float> splat (float 0xC1E0000000000000)
  %v33 = fcmp olt <8 x float> %v32, splat (float 0x41DFFFFFE0000000)
  %v34 = select <8 x i1> %v33, <8 x float> %v32, <8 x float> splat (float 0x41DFFFFFE0000000)
  %v35 = fptosi <8 x float> %v34 to <8 x i32>
  %v36 = fcmp ogt <8 x float> %v30, splat (float 0x41DFFFFFE0000000)
  %v37 = select <8 x i1> %v36, <8 x i32> splat (i32 2147483647), <8 x i32> %v35
  %v38 = sext <8 x i32> %v37 to <8 x i64>
  %v39 = mul <8 x i32> %v37, splat (i32 12)
  %v40 = sext <8 x i32> %v39 to <8 x i64>
  %v41 = getelementptr i8, ptr %v4, <8 x i64> %v40
  %v42 = getelementptr i8, <8 x ptr> %v41, i64 4
  %v43 = getelementptr i8, <8 x ptr> %v41, i64 8
  %v44 = bitcast <8 x i1> %v24 to i8
  %v45 = call i8 @llvm.cttz.i8(i8 %v44, i1 false)
  %v46 = and i8 %v45, 7
  %v47 = zext i8 %v46 to i64
  %v48 = extractelement <8 x ptr> %v41, i64 %v47
  %v49 = insertelement <8 x ptr> poison, ptr %v48, i64 0
  %v50 = shufflevector <8 x ptr> %v49, <8 x ptr> poison, <8 x i32> zeroinitializer
  %v51 = select <8 x i1> %v24, <8 x ptr> %v41, <8 x ptr> %v50
  %v52 = extractelement <8 x ptr> %v51, i64 0
  %v53 = extractelement <8 x ptr> %v51, i64 1
  %v54 = extractelement <8 x ptr> %v51, i64 2
  %v55 = extractelement <8 x ptr> %v51, i64 3
  %v56 = extractelement <8 x ptr> %v51, i64 4
  %v57 = extractelement <8 x ptr> %v51, i64 5
  %v58 = extractelement <8 x ptr> %v51, i64 6
  %v59 = extractelement <8 x ptr> %v51, i64 7
  %v60 = call <4 x float> @llvm.masked.load.v4f32.p0(ptr align 4 %v52, <4 x i1> <i1 true, i1 true, i1 true, i1 false>, <4 x float> zeroinitializer), !alias.scope !9, !noalias !10
  %v61 = call <4 x float> @llvm.masked.load.v4f32.p0(ptr align 4 %v53, <4 x i1> <i1 true, i1 true, i1 true, i1 false>, <4 x float> zeroinitializer), !alias.scope !9, !noalias !10
  %v62 = call <4 x float> @llvm.masked.load.v4f32.p0(ptr align 4 %v54, <4 x i1> <i1 true, i1 true, i1 true, i1 false>, <4 x float> zeroinitializer), !alias.scope !9, !noalias !10
  %v63 = call <4 x float> @llvm.masked.load.v4f32.p0(ptr align 4 %v55, <4 x i1> <i1 true, i1 true, i1 true, i1 false>, <4 x float> zeroinitializer), !alias.scope !9, !noalias !10
  %v64 = call <4 x float> @llvm.masked.load.v4f32.p0(ptr align 4 %v56, <4 x i1> <i1 true, i1 true, i1 true, i1 false>, <4 x float> zeroinitializer), !alias.scope !9, !noalias !10
  %v65 = call <4 x float> @llvm.masked.load.v4f32.p0(ptr align 4 %v57, <4 x i1> <i1 true, i1 true, i1 true, i1 false>, <4 x float> zeroinitializer), !alias.scope !9, !noalias !10
  %v66 = call <4 x float> @llvm.masked.load.v4f32.p0(ptr align 4 %v58, <4 x i1> <i1 true, i1 true, i1 true, i1 false>, <4 x float> zeroinitializer), !alias.scope !9, !noalias !10
  %v67 = call <4 x float> @llvm.masked.load.v4f32.p0(ptr align 4 %v59, <4 x i1> <i1 true, i1 true, i1 true, i1 false>, <4 x float> zeroinitializer), !alias.scope !9, !noalias !10
  %v68 = shufflevector <4 x float> %v60, <4 x float> %v61, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %v69 = shufflevector <4 x float> %v62, <4 x float> %v63, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %v70 = shufflevector <4 x float> %v64, <4 x float> %v65, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %v71 = shufflevector <4 x float> %v66, <4 x float> %v67, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %v72 = shufflevector <8 x float> %v68, <8 x float> %v69, <8 x i32> <i32 0, i32 4, i32 8, i32 12, i32 1, i32 5, i32 9, i32 13>
  %v73 = shufflevector <8 x float> %v70, <8 x float> %v71, <8 x i32> <i32 0, i32 4, i32 8, i32 12, i32 1, i32 5, i32 9, i32 13>
  %v74 = shufflevector <8 x float> %v68, <8 x float> %v69, <8 x i32> <i32 2, i32 6, i32 10, i32 14, i32 3, i32 7, i32 11, i32 15>
  %v75 = shufflevector <8 x float> %v70, <8 x float> %v71, <8 x i32> <i32 2, i32 6, i32 10, i32 14, i32 3, i32 7, i32 11, i32 15>
  %v76 = shufflevector <8 x float> %v72, <8 x float> %v73, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 8, i32 9, i32 10, i32 11>
  %v77 = shufflevector <8 x float> %v72, <8 x float> %v73, <8 x i32> <i32 4, i32 5, i32 6, i32 7, i32 12, i32 13, i32 14, i32 15>
  %v78 = shufflevector <8 x float> %v74, <8 x float> %v75, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 8, i32 9, i32 10, i32 11>
  %v79 = getelementptr i8, <8 x ptr> %v41, i64 12
  %v80 = getelementptr i8, <8 x ptr> %v79, i64 4
  %v81 = getelementptr i8, <8 x ptr> %v79, i64 8
  %v82 = getelementptr i8, ptr %v52, i64 12
  %v83 = getelementptr i8, ptr %v53, i64 12
  %v84 = getelementptr i8, ptr %v54, i64 12
  %v85 = getelementptr i8, ptr %v55, i64 12
  %v86 = getelementptr i8, ptr %v56, i64 12
  %v87 = getelementptr i8, ptr %v57, i64 12
  %v88 = getelementptr i8, ptr %v58, i64 12
  %v89 = getelementptr i8, ptr %v59, i64 12
  %v90 = call <4 x float> @llvm.masked.load.v4f32.p0(ptr align 4 %v82, <4 x i1> <i1 true, i1 true, i1 true, i1 false>, <4 x float> zeroinitializer), !alias.scope !9, !noalias !10
  %v91 = call <4 x float> @llvm.masked.load.v4f32.p0(ptr align 4 %v83, <4 x i1> <i1 true, i1 true, i1 true, i1 false>, <4 x float> zeroinitializer), !alias.scope !9, !noalias !10
  %v92 = call <4 x float> @llvm.masked.load.v4f32.p0(ptr align 4 %v84, <4 x i1> <i1 true, i1 true, i1 true, i1 false>, <4 x float> zeroinitializer), !alias.scope !9, !noalias !10
  %v93 = call <4 x float> @llvm.masked.load.v4f32.p0(ptr align 4 %v85, <4 x i1> <i1 true, i1 true, i1 true, i1 false>, <4 x float> zeroinitializer), !alias.scope !9, !noalias !10
  %v94 = call <4 x float> @llvm.masked.load.v4f32.p0(ptr align 4 %v86, <4 x i1> <i1 true, i1 true, i1 true, i1 false>, <4 x float> zeroinitializer), !alias.scope !9, !noalias !10
  %v95 = call <4 x float> @llvm.masked.load.v4f32.p0(ptr align 4 %v87, <4 x i1> <i1 true, i1 true, i1 true, i1 false>, <4 x float> zeroinitializer), !alias.scope !9, !noalias !10
  %v96 = call <4 x float> @llvm.masked.load.v4f32.p0(ptr align 4 %v88, <4 x i1> <i1 true, i1 true, i1 true, i1 false>, <4 x float> zeroinitializer), !alias.scope !9, !noalias !10
  %v97 = call <4 x float> @llvm.masked.load.v4f32.p0(ptr align 4 %v89, <4 x i1> <i1 true, i1 true, i1 true, i1 false>, <4 x float> zeroinitializer), !alias.scope !9, !noalias !10
  %v98 = shufflevector <4 x float> %v90, <4 x float> %v91, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %v99 = shufflevector <4 x float> %v92, <4 x float> %v93, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %v100 = shufflevector <4 x float> %v94, <4 x float> %v95, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %v101 = shufflevector <4 x float> %v96, <4 x float> %v97, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %v102 = shufflevector <8 x float> %v98, <8 x float> %v99, <8 x i32> <i32 0, i32 4, i32 8, i32 12, i32 1, i32 5, i32 9, i32 13>
  %v103 = shufflevector <8 x float> %v100, <8 x float> %v101, <8 x i32> <i32 0, i32 4, i32 8, i32 12, i32 1, i32 5, i32 9, i32 13>
  %v104 = shufflevector <8 x float> %v98, <8 x float> %v99, <8 x i32> <i32 2, i32 6, i32 10, i32 14, i32 3, i32 7, i32 11, i32 15>
  %v105 = shufflevector <8 x float> %v100, <8 x float> %v101, <8 x i32> <i32 2, i32 6, i32 10, i32 14, i32 3, i32 7, i32 11, i32 15>
  %v106 = shufflevector <8 x float> %v102, <8 x float> %v103, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 8, i32 9, i32 10, i32 11>
  %v107 = shufflevector <8 x float> %v102, <8 x float> %v103, <8 x i32> <i32 4, i32 5, i32 6, i32 7, i32 12, i32 13, i32 14, i32 15>
  %v108 = shufflevector <8 x float> %v104, <8 x float> %v105, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 8, i32 9, i32 10, i32 11>
  %v109 = fadd reassoc arcp contract afn <8 x float> %v76, %v106
  %v110 = fadd reassoc arcp contract afn <8 x float> %v77, %v107
  %v111 = fadd reassoc arcp contract afn <8 x float> %v78, %v108
  %v112 = fmul reassoc arcp contract afn <8 x float> %v27, %v109
  %v113 = fmul reassoc arcp contract afn <8 x float> %v27, %v110
  %v114 = fmul reassoc arcp contract afn <8 x float> %v27, %v111
  %v115 = mul <8 x i32> %v37, splat (i32 4)
  %v116 = sext <8 x i32> %v115 to <8 x i64>
  %v117 = getelementptr i8, ptr %v6, <8 x i64> %v116
  %v118 = getelementptr i8, <8 x ptr> %v117, i64 4
  store <8 x ptr> %v41, ptr %s119, align 64
  store <8 x float> %v112, ptr %s120, align 64
  store <8 x float> %v113, ptr %s121, align 64
  store <8 x float> %v114, ptr %s122, align 64
  store <8 x ptr> %v117, ptr %s123, align 64
  store <8 x float> %v27, ptr %s124, align 64
  %v128 = bitcast <8 x i1> %v24 to i8
  br label %lane125
lane125:
  %left129 = phi i8 [ %v128, %body13 ], [ %rest130, %latch126 ]
  %v131 = call i8 @llvm.cttz.i8(i8 %left129, i1 true)
  %v132 = zext i8 %v131 to i64
  %v133 = getelementptr ptr, ptr %s119, i64 %v132
  %v134 = load ptr, ptr %v133
  %v135 = getelementptr float, ptr %s120, i64 %v132
  %v136 = load float, ptr %v135
  %v137 = atomicrmw fadd ptr %v134, float %v136 monotonic
  %v138 = getelementptr i8, ptr %v134, i64 4
  %v139 = getelementptr float, ptr %s121, i64 %v132
  %v140 = load float, ptr %v139
  %v141 = atomicrmw fadd ptr %v138, float %v140 monotonic
  %v142 = getelementptr i8, ptr %v134, i64 8
  %v143 = getelementptr float, ptr %s122, i64 %v132
  %v144 = load float, ptr %v143
  %v145 = atomicrmw fadd ptr %v142, float %v144 monotonic
  %v146 = getelementptr ptr, ptr %s123, i64 %v132
  %v147 = load ptr, ptr %v146
  %v148 = getelementptr float, ptr %s124, i64 %v132
  %v149 = load float, ptr %v148
  %v150 = atomicrmw fadd ptr %v147, float %v149 monotonic
  %v151 = getelementptr i8, ptr %v134, i64 12
  %v152 = atomicrmw fadd ptr %v151, float %v136 monotonic
  %v153 = getelementptr i8, ptr %v134, i64 16
  %v154 = atomicrmw fadd ptr %v153, float %v140 monotonic
  %v155 = getelementptr i8, ptr %v134, i64 20
  %v156 = atomicrmw fadd ptr %v155, float %v144 monotonic
  %v157 = getelementptr i8, ptr %v147, i64 4
  %v158 = atomicrmw fadd ptr %v157, float %v149 monotonic
  br label %latch126
latch126:
  %v159 = sub i8 %left129, 1
  %rest130 = and i8 %left129, %v159
  %v160 = icmp ne i8 %rest130, 0
  br i1 %v160, label %lane125, label %done127
done127:
  br label %latch14
latch14:
  %n17 = add nsw i64 %i16, 8
  %v161 = icmp ugt i64 %v19, 8
  br i1 %v161, label %body13, label %done15
done15:
  br label %exit
exit:
  ret void
}

define internal void @weft_task0_plain(ptr noalias %ctx, ptr noalias %box, i64 %begin, i64 %end) noinline nounwind "reciprocal-estimates"="none" {
entry:
  %s119 = alloca <8 x ptr>, align 64
  %s120 = alloca <8 x float>, align 64
  %s121 = alloca <8 x float>, align 64
  %s122 = alloca <8 x float>, align 64
  %s123 = alloca <8 x ptr>, align 64
  %s124 = alloca <8 x float>, align 64
  br label %start
start:
  %v1 = getelementptr inbounds i8, ptr %ctx, i64 24
  %v2 = load ptr, ptr %v1, align 8, !invariant.load !{}
  %v3 = getelementptr inbounds i8, ptr %ctx, i64 32
  %v4 = load ptr, ptr %v3, align 8, !invariant.load !{}
  %v5 = getelementptr inbounds i8, ptr %ctx, i64 40
  %v6 = load ptr, ptr %v5, align 8, !invariant.load !{}
  %v7 = mul i64 %begin, 8
  %v8 = add i64 0, %v7
  %v9 = mul i64 %end, 8
  %v10 = add i64 0, %v9
  %v11 = call i64 @llvm.smin.i64(i64 %v10, i64 100)
  %v18 = icmp slt i64 %v8, %v11
  br i1 %v18, label %enter12, label %done15
enter12:
  br label %body13
body13:
  %i16 = phi i64 [ %v8, %enter12 ], [ %n17, %latch14 ]
  %v19 = sub i64 %v11, %i16
  %v20 = call i64 @llvm.umin.i64(i64 %v19, i64 8)
  %v21 = trunc i64 %v20 to i32
  %v22 = insertelement <8 x i32> poison, i32 %v21, i64 0
  %v23 = shufflevector <8 x i32> %v22, <8 x i32> poison, <8 x i32> zeroinitializer
  %v24 = icmp ult <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %v23
  %v25 = mul i64 %i16, 4
  %v26 = getelementptr i8, ptr %v2, i64 %v25
  %v27 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %v26, <8 x i1> %v24, <8 x float> zeroinitializer), !alias.scope !7, !noalias !8
  %v28 = fmul reassoc arcp contract afn <8 x float> %v27, splat (float 0x4020000000000000)
  %v29 = fcmp ord <8 x float> %v28, %v28
  %v30 = select <8 x i1> %v29, <8 x float> %v28, <8 x float> splat (float 0x0000000000000000)
  %v31 = fcmp ogt <8 x float> %v30, splat (float 0xC1E0000000000000)
  %v32 = select <8 x i1> %v31, <8 x float> %v30, <8 x float> splat (float 0xC1E0000000000000)
  %v33 = fcmp olt <8 x float> %v32, splat (float 0x41DFFFFFE0000000)
  %v34 = select <8 x i1> %v33, <8 x float> %v32, <8 x float> splat (float 0x41DFFFFFE0000000)
  %v35 = fptosi <8 x float> %v34 to <8 x i32>
  %v36 = fcmp ogt <8 x float> %v30, splat (float 0x41DFFFFFE0000000)
  %v37 = select <8 x i1> %v36, <8 x i32> splat (i32 2147483647), <8 x i32> %v35
  %v38 = sext <8 x i32> %v37 to <8 x i64>
  %v39 = mul <8 x i32> %v37, splat (i32 12)
  %v40 = sext <8 x i32> %v39 to <8 x i64>
  %v41 = getelementptr i8, ptr %v4, <8 x i64> %v40
  %v42 = getelementptr i8, <8 x ptr> %v41, i64 4
  %v43 = getelementptr i8, <8 x ptr> %v41, i64 8
  %v44 = bitcast <8 x i1> %v24 to i8
  %v45 = call i8 @llvm.cttz.i8(i8 %v44, i1 false)
  %v46 = and i8 %v45, 7
  %v47 = zext i8 %v46 to i64
  %v48 = extractelement <8 x ptr> %v41, i64 %v47
  %v49 = insertelement <8 x ptr> poison, ptr %v48, i64 0
  %v50 = shufflevector <8 x ptr> %v49, <8 x ptr> poison, <8 x i32> zeroinitializer
  %v51 = select <8 x i1> %v24, <8 x ptr> %v41, <8 x ptr> %v50
  %v52 = extractelement <8 x ptr> %v51, i64 0
  %v53 = extractelement <8 x ptr> %v51, i64 1
  %v54 = extractelement <8 x ptr> %v51, i64 2
  %v55 = extractelement <8 x ptr> %v51, i64 3
  %v56 = extractelement <8 x ptr> %v51, i64 4
  %v57 = extractelement <8 x ptr> %v51, i64 5
  %v58 = extractelement <8 x ptr> %v51, i64 6
  %v59 = extractelement <8 x ptr> %v51, i64 7
  %v60 = call <4 x float> @llvm.masked.load.v4f32.p0(ptr align 4 %v52, <4 x i1> <i1 true, i1 true, i1 true, i1 false>, <4 x float> zeroinitializer), !alias.scope !9, !noalias !10
  %v61 = call <4 x float> @llvm.masked.load.v4f32.p0(ptr align 4 %v53, <4 x i1> <i1 true, i1 true, i1 true, i1 false>, <4 x float> zeroinitializer), !alias.scope !9, !noalias !10
  %v62 = call <4 x float> @llvm.masked.load.v4f32.p0(ptr align 4 %v54, <4 x i1> <i1 true, i1 true, i1 true, i1 false>, <4 x float> zeroinitializer), !alias.scope !9, !noalias !10
  %v63 = call <4 x float> @llvm.masked.load.v4f32.p0(ptr align 4 %v55, <4 x i1> <i1 true, i1 true, i1 true, i1 false>, <4 x float> zeroinitializer), !alias.scope !9, !noalias !10
  %v64 = call <4 x float> @llvm.masked.load.v4f32.p0(ptr align 4 %v56, <4 x i1> <i1 true, i1 true, i1 true, i1 false>, <4 x float> zeroinitializer), !alias.scope !9, !noalias !10
  %v65 = call <4 x float> @llvm.masked.load.v4f32.p0(ptr align 4 %v57, <4 x i1> <i1 true, i1 true, i1 true, i1 false>, <4 x float> zeroinitializer), !alias.scope !9, !noalias !10
  %v66 = call <4 x float> @llvm.masked.load.v4f32.p0(ptr align 4 %v58, <4 x i1> <i1 true, i1 true, i1 true, i1 false>, <4 x float> zeroinitializer), !alias.scope !9, !noalias !10
  %v67 = call <4 x float> @llvm.masked.load.v4f32.p0(ptr align 4 %v59, <4 x i1> <i1 true, i1 true, i1 true, i1 false>, <4 x float> zeroinitializer), !alias.scope !9, !noalias !10
  %v68 = shufflevector <4 x float> %v60, <4 x float> %v61, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %v69 = shufflevector <4 x float> %v62, <4 x float> %v63, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %v70 = shufflevector <4 x float> %v64, <4 x float> %v65, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %v71 = shufflevector <4 x float> %v66, <4 x float> %v67, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %v72 = shufflevector <8 x float> %v68, <8 x float> %v69, <8 x i32> <i32 0, i32 4, i32 8, i32 12, i32 1, i32 5, i32 9, i32 13>
  %v73 = shufflevector <8 x float> %v70, <8 x float> %v71, <8 x i32> <i32 0, i32 4, i32 8, i32 12, i32 1, i32 5, i32 9, i32 13>
  %v74 = shufflevector <8 x float> %v68, <8 x float> %v69, <8 x i32> <i32 2, i32 6, i32 10, i32 14, i32 3, i32 7, i32 11, i32 15>
  %v75 = shufflevector <8 x float> %v70, <8 x float> %v71, <8 x i32> <i32 2, i32 6, i32 10, i32 14, i32 3, i32 7, i32 11, i32 15>
  %v76 = shufflevector <8 x float> %v72, <8 x float> %v73, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 8, i32 9, i32 10, i32 11>
  %v77 = shufflevector <8 x float> %v72, <8 x float> %v73, <8 x i32> <i32 4, i32 5, i32 6, i32 7, i32 12, i32 13, i32 14, i32 15>
  %v78 = shufflevector <8 x float> %v74, <8 x float> %v75, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 8, i32 9, i32 10, i32 11>
  %v79 = getelementptr i8, <8 x ptr> %v41, i64 12
  %v80 = getelementptr i8, <8 x ptr> %v79, i64 4
  %v81 = getelementptr i8, <8 x ptr> %v79, i64 8
  %v82 = getelementptr i8, ptr %v52, i64 12
  %v83 = getelementptr i8, ptr %v53, i64 12
  %v84 = getelementptr i8, ptr %v54, i64 12
  %v85 = getelementptr i8, ptr %v55, i64 12
  %v86 = getelementptr i8, ptr %v56, i64 12
  %v87 = getelementptr i8, ptr %v57, i64 12
  %v88 = getelementptr i8, ptr %v58, i64 12
  %v89 = getelementptr i8, ptr %v59, i64 12
  %v90 = call <4 x float> @llvm.masked.load.v4f32.p0(ptr align 4 %v82, <4 x i1> <i1 true, i1 true, i1 true, i1 false>, <4 x float> zeroinitializer), !alias.scope !9, !noalias !10
  %v91 = call <4 x float> @llvm.masked.load.v4f32.p0(ptr align 4 %v83, <4 x i1> <i1 true, i1 true, i1 true, i1 false>, <4 x float> zeroinitializer), !alias.scope !9, !noalias !10
  %v92 = call <4 x float> @llvm.masked.load.v4f32.p0(ptr align 4 %v84, <4 x i1> <i1 true, i1 true, i1 true, i1 false>, <4 x float> zeroinitializer), !alias.scope !9, !noalias !10
  %v93 = call <4 x float> @llvm.masked.load.v4f32.p0(ptr align 4 %v85, <4 x i1> <i1 true, i1 true, i1 true, i1 false>, <4 x float> zeroinitializer), !alias.scope !9, !noalias !10
  %v94 = call <4 x float> @llvm.masked.load.v4f32.p0(ptr align 4 %v86, <4 x i1> <i1 true, i1 true, i1 true, i1 false>, <4 x float> zeroinitializer), !alias.scope !9, !noalias !10
  %v95 = call <4 x float> @llvm.masked.load.v4f32.p0(ptr align 4 %v87, <4 x i1> <i1 true, i1 true, i1 true, i1 false>, <4 x float> zeroinitializer), !alias.scope !9, !noalias !10
  %v96 = call <4 x float> @llvm.masked.load.v4f32.p0(ptr align 4 %v88, <4 x i1> <i1 true, i1 true, i1 true, i1 false>, <4 x float> zeroinitializer), !alias.scope !9, !noalias !10
  %v97 = call <4 x float> @llvm.masked.load.v4f32.p0(ptr align 4 %v89, <4 x i1> <i1 true, i1 true, i1 true, i1 false>, <4 x float> zeroinitializer), !alias.scope !9, !noalias !10
  %v98 = shufflevector <4 x float> %v90, <4 x float> %v91, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %v99 = shufflevector <4 x float> %v92, <4 x float> %v93, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %v100 = shufflevector <4 x float> %v94, <4 x float> %v95, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %v101 = shufflevector <4 x float> %v96, <4 x float> %v97, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %v102 = shufflevector <8 x float> %v98, <8 x float> %v99, <8 x i32> <i32 0, i32 4, i32 8, i32 12, i32 1, i32 5, i32 9, i32 13>
  %v103 = shufflevector <8 x float> %v100, <8 x float> %v101, <8 x i32> <i32 0, i32 4, i32 8, i32 12, i32 1, i32 5, i32 9, i32 13>
  %v104 = shufflevector <8 x float> %v98, <8 x float> %v99, <8 x i32> <i32 2, i32 6, i32 10, i32 14, i32 3, i32 7, i32 11, i32 15>
  %v105 = shufflevector <8 x float> %v100, <8 x float> %v101, <8 x i32> <i32 2, i32 6, i32 10, i32 14, i32 3, i32 7, i32 11, i32 15>
  %v106 = shufflevector <8 x float> %v102, <8 x float> %v103, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 8, i32 9, i32 10, i32 11>
  %v107 = shufflevector <8 x float> %v102, <8 x float> %v103, <8 x i32> <i32 4, i32 5, i32 6, i32 7, i32 12, i32 13, i32 14, i32 15>
  %v108 = shufflevector <8 x float> %v104, <8 x float> %v105, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 8, i32 9, i32 10, i32 11>
  %v109 = fadd reassoc arcp contract afn <8 x float> %v76, %v106
  %v110 = fadd reassoc arcp contract afn <8 x float> %v77, %v107
  %v111 = fadd reassoc arcp contract afn <8 x float> %v78, %v108
  %v112 = fmul reassoc arcp contract afn <8 x float> %v27, %v109
  %v113 = fmul reassoc arcp contract afn <8 x float> %v27, %v110
  %v114 = fmul reassoc arcp contract afn <8 x float> %v27, %v111
  %v115 = mul <8 x i32> %v37, splat (i32 4)
  %v116 = sext <8 x i32> %v115 to <8 x i64>
  %v117 = getelementptr i8, ptr %v6, <8 x i64> %v116
  %v118 = getelementptr i8, <8 x ptr> %v117, i64 4
  store <8 x ptr> %v41, ptr %s119, align 64
  store <8 x float> %v112, ptr %s120, align 64
  store <8 x float> %v113, ptr %s121, align 64
  store <8 x float> %v114, ptr %s122, align 64
  store <8 x ptr> %v117, ptr %s123, align 64
  store <8 x float> %v27, ptr %s124, align 64
  %v128 = bitcast <8 x i1> %v24 to i8
  br label %lane125
lane125:
  %left129 = phi i8 [ %v128, %body13 ], [ %rest130, %latch126 ]
  %v131 = call i8 @llvm.cttz.i8(i8 %left129, i1 true)
  %v132 = zext i8 %v131 to i64
  %v133 = getelementptr ptr, ptr %s119, i64 %v132
  %v134 = load ptr, ptr %v133
  %v135 = getelementptr float, ptr %s120, i64 %v132
  %v136 = load float, ptr %v135
  %v137 = load float, ptr %v134, align 4, !alias.scope !11, !noalias !12
  %v138 = fadd reassoc arcp contract afn float %v137, %v136
  store float %v138, ptr %v134, align 4, !alias.scope !11, !noalias !12
  %v139 = getelementptr i8, ptr %v134, i64 4
  %v140 = getelementptr float, ptr %s121, i64 %v132
  %v141 = load float, ptr %v140
  %v142 = load float, ptr %v139, align 4, !alias.scope !13, !noalias !14
  %v143 = fadd reassoc arcp contract afn float %v142, %v141
  store float %v143, ptr %v139, align 4, !alias.scope !13, !noalias !14
  %v144 = getelementptr i8, ptr %v134, i64 8
  %v145 = getelementptr float, ptr %s122, i64 %v132
  %v146 = load float, ptr %v145
  %v147 = load float, ptr %v144, align 4, !alias.scope !15, !noalias !16
  %v148 = fadd reassoc arcp contract afn float %v147, %v146
  store float %v148, ptr %v144, align 4, !alias.scope !15, !noalias !16
  %v149 = getelementptr ptr, ptr %s123, i64 %v132
  %v150 = load ptr, ptr %v149
  %v151 = getelementptr float, ptr %s124, i64 %v132
  %v152 = load float, ptr %v151
  %v153 = load float, ptr %v150, align 4, !alias.scope !17, !noalias !18
  %v154 = fadd reassoc arcp contract afn float %v153, %v152
  store float %v154, ptr %v150, align 4, !alias.scope !17, !noalias !18
  %v155 = getelementptr i8, ptr %v134, i64 12
  %v156 = load float, ptr %v155, align 4, !alias.scope !11, !noalias !12
  %v157 = fadd reassoc arcp contract afn float %v156, %v136
  store float %v157, ptr %v155, align 4, !alias.scope !11, !noalias !12
  %v158 = getelementptr i8, ptr %v134, i64 16
  %v159 = load float, ptr %v158, align 4, !alias.scope !13, !noalias !14
  %v160 = fadd reassoc arcp contract afn float %v159, %v141
  store float %v160, ptr %v158, align 4, !alias.scope !13, !noalias !14
  %v161 = getelementptr i8, ptr %v134, i64 20
  %v162 = load float, ptr %v161, align 4, !alias.scope !15, !noalias !16
  %v163 = fadd reassoc arcp contract afn float %v162, %v146
  store float %v163, ptr %v161, align 4, !alias.scope !15, !noalias !16
  %v164 = getelementptr i8, ptr %v150, i64 4
  %v165 = load float, ptr %v164, align 4, !alias.scope !17, !noalias !18
  %v166 = fadd reassoc arcp contract afn float %v165, %v152
  store float %v166, ptr %v164, align 4, !alias.scope !17, !noalias !18
  br label %latch126
latch126:
  %v167 = sub i8 %left129, 1
  %rest130 = and i8 %left129, %v167
  %v168 = icmp ne i8 %rest130, 0
  br i1 %v168, label %lane125, label %done127
done127:
  br label %latch14
latch14:
  %n17 = add nsw i64 %i16, 8
  %v169 = icmp ugt i64 %v19, 8
  br i1 %v169, label %body13, label %done15
done15:
  br label %exit
exit:
  ret void
}

define void @weft_entry(ptr noalias %ctx) nounwind "reciprocal-estimates"="none" {
entry:
  %s1 = alloca [2 x i64], align 8
  br label %start
start:
  %v2 = add i64 100, 7
  %v3 = udiv i64 %v2, 8
  %v4 = mul nsw i64 8, 62
  %v5 = call i64 @llvm.smax.i64(i64 %v4, i64 1)
  %v6 = udiv i64 40000, %v5
  %v7 = add i64 %v6, 1
  %v8 = icmp sle i64 %v3, %v7
  br i1 %v8, label %here9, label %shared10
here9:
  call void @weft_task0_plain(ptr %ctx, ptr %s1, i64 0, i64 %v3)
  br label %done11
shared10:
  %v12 = getelementptr inbounds i8, ptr %ctx, i64 0
  %v13 = load ptr, ptr %v12, align 8, !invariant.load !{}
  %v14 = getelementptr inbounds i8, ptr %v13, i64 16
  %v15 = load i64, ptr %v14, align 8, !invariant.load !{}
  %v16 = getelementptr inbounds i8, ptr %ctx, i64 0
  %v17 = load ptr, ptr %v16, align 8, !invariant.load !{}
  %v18 = getelementptr inbounds i8, ptr %v17, i64 0
  %v19 = load ptr, ptr %v18, align 8, !invariant.load !{}
  call void %v19(i64 %v15, ptr @weft_task0, ptr %ctx, ptr %s1, i64 %v3, i64 %v7)
  br label %done11
done11:
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
