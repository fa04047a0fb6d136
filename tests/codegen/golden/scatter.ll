; a golden module


declare i64 @llvm.smax.i64(i64, i64)
declare i64 @llvm.smin.i64(i64, i64)
declare i64 @llvm.umin.i64(i64, i64)
declare <8 x float> @llvm.masked.load.v8f32.p0(ptr, <8 x i1>, <8 x float>)
declare i8 @llvm.cttz.i8(i8, i1)
declare <4 x float> @llvm.masked.load.v4f32.p0(ptr, <4 x i1>, <4 x float>)

define internal void @weft_task0(ptr noalias %ctx, ptr noalias %box, i64 %begin, i64 %end) noinline nounwind "reciprocal-estimates"="none" {
entry:
  %s113 = alloca <8 x ptr>, align 64
  %s114 = alloca <8 x float>, align 64
  %s115 = alloca <8 x float>, align 64
  %s116 = alloca <8 x float>, align 64
  %s120 = alloca <8 x ptr>, align 64
  %s121 = alloca <8 x float>, align 64
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
  %v45 = call i8 @llvm.cttz.i8(i8 %v44, i1 true)
  %v46 = extractelement <8 x ptr> %v41, i8 %v45
  %v47 = insertelement <8 x ptr> poison, ptr %v46, i64 0
  %v48 = shufflevector <8 x ptr> %v47, <8 x ptr> poison, <8 x i32> zeroinitializer
  %v49 = select <8 x i1> %v24, <8 x ptr> %v41, <8 x ptr> %v48
  %v50 = extractelement <8 x ptr> %v49, i64 0
  %v51 = extractelement <8 x ptr> %v49, i64 1
  %v52 = extractelement <8 x ptr> %v49, i64 2
  %v53 = extractelement <8 x ptr> %v49, i64 3
  %v54 = extractelement <8 x ptr> %v49, i64 4
  %v55 = extractelement <8 x ptr> %v49, i64 5
  %v56 = extractelement <8 x ptr> %v49, i64 6
  %v57 = extractelement <8 x ptr> %v49, i64 7
  %v58 = call <4 x float> @llvm.masked.load.v4f32.p0(ptr align 4 %v50, <4 x i1> <i1 true, i1 true, i1 true, i1 false>, <4 x float> zeroinitializer), !alias.scope !11, !noalias !12
  %v59 = call <4 x float> @llvm.masked.load.v4f32.p0(ptr align 4 %v51, <4 x i1> <i1 true, i1 true, i1 true, i1 false>, <4 x float> zeroinitializer), !alias.scope !11, !noalias !12
  %v60 = call <4 x float> @llvm.masked.load.v4f32.p0(ptr align 4 %v52, <4 x i1> <i1 true, i1 true, i1 true, i1 false>, <4 x float> zeroinitializer), !alias.scope !11, !noalias !12
  %v61 = call <4 x float> @llvm.masked.load.v4f32.p0(ptr align 4 %v53, <4 x i1> <i1 true, i1 true, i1 true, i1 false>, <4 x float> zeroinitializer), !alias.scope !11, !noalias !12
  %v62 = call <4 x float> @llvm.masked.load.v4f32.p0(ptr align 4 %v54, <4 x i1> <i1 true, i1 true, i1 true, i1 false>, <4 x float> zeroinitializer), !alias.scope !11, !noalias !12
  %v63 = call <4 x float> @llvm.masked.load.v4f32.p0(ptr align 4 %v55, <4 x i1> <i1 true, i1 true, i1 true, i1 false>, <4 x float> zeroinitializer), !alias.scope !11, !noalias !12
  %v64 = call <4 x float> @llvm.masked.load.v4f32.p0(ptr align 4 %v56, <4 x i1> <i1 true, i1 true, i1 true, i1 false>, <4 x float> zeroinitializer), !alias.scope !11, !noalias !12
  %v65 = call <4 x float> @llvm.masked.load.v4f32.p0(ptr align 4 %v57, <4 x i1> <i1 true, i1 true, i1 true, i1 false>, <4 x float> zeroinitializer), !alias.scope !11, !noalias !12
  %v66 = shufflevector <4 x float> %v58, <4 x float> %v59, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %v67 = shufflevector <4 x float> %v60, <4 x float> %v61, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %v68 = shufflevector <4 x float> %v62, <4 x float> %v63, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %v69 = shufflevector <4 x float> %v64, <4 x float> %v65, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %v70 = shufflevector <8 x float> %v66, <8 x float> %v67, <8 x i32> <i32 0, i32 4, i32 8, i32 12, i32 1, i32 5, i32 9, i32 13>
  %v71 = shufflevector <8 x float> %v68, <8 x float> %v69, <8 x i32> <i32 0, i32 4, i32 8, i32 12, i32 1, i32 5, i32 9, i32 13>
  %v72 = shufflevector <8 x float> %v66, <8 x float> %v67, <8 x i32> <i32 2, i32 6, i32 10, i32 14, i32 3, i32 7, i32 11, i32 15>
  %v73 = shufflevector <8 x float> %v68, <8 x float> %v69, <8 x i32> <i32 2, i32 6, i32 10, i32 14, i32 3, i32 7, i32 11, i32 15>
  %v74 = shufflevector <8 x float> %v70, <8 x float> %v71, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 8, i32 9, i32 10, i32 11>
  %v75 = shufflevector <8 x float> %v70, <8 x float> %v71, <8 x i32> <i32 4, i32 5, i32 6, i32 7, i32 12, i32 13, i32 14, i32 15>
  %v76 = shufflevector <8 x float> %v72, <8 x float> %v73, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 8, i32 9, i32 10, i32 11>
  %v77 = getelementptr i8, <8 x ptr> %v41, i64 12
  %v78 = getelementptr i8, <8 x ptr> %v77, i64 4
  %v79 = getelementptr i8, <8 x ptr> %v77, i64 8
  %v80 = getelementptr i8, ptr %v50, i64 12
  %v81 = getelementptr i8, ptr %v51, i64 12
  %v82 = getelementptr i8, ptr %v52, i64 12
  %v83 = getelementptr i8, ptr %v53, i64 12
  %v84 = getelementptr i8, ptr %v54, i64 12
  %v85 = getelementptr i8, ptr %v55, i64 12
  %v86 = getelementptr i8, ptr %v56, i64 12
  %v87 = getelementptr i8, ptr %v57, i64 12
  %v88 = call <4 x float> @llvm.masked.load.v4f32.p0(ptr align 4 %v80, <4 x i1> <i1 true, i1 true, i1 true, i1 false>, <4 x float> zeroinitializer), !alias.scope !11, !noalias !12
  %v89 = call <4 x float> @llvm.masked.load.v4f32.p0(ptr align 4 %v81, <4 x i1> <i1 true, i1 true, i1 true, i1 false>, <4 x float> zeroinitializer), !alias.scope !11, !noalias !12
  %v90 = call <4 x float> @llvm.masked.load.v4f32.p0(ptr align 4 %v82, <4 x i1> <i1 true, i1 true, i1 true, i1 false>, <4 x float> zeroinitializer), !alias.scope !11, !noalias !12
  %v91 = call <4 x float> @llvm.masked.load.v4f32.p0(ptr align 4 %v83, <4 x i1> <i1 true, i1 true, i1 true, i1 false>, <4 x float> zeroinitializer), !alias.scope !11, !noalias !12
  %v92 = call <4 x float> @llvm.masked.load.v4f32.p0(ptr align 4 %v84, <4 x i1> <i1 true, i1 true, i1 true, i1 false>, <4 x float> zeroinitializer), !alias.scope !11, !noalias !12
  %v93 = call <4 x float> @llvm.masked.load.v4f32.p0(ptr align 4 %v85, <4 x i1> <i1 true, i1 true, i1 true, i1 false>, <4 x float> zeroinitializer), !alias.scope !11, !noalias !12
  %v94 = call <4 x float> @llvm.masked.load.v4f32.p0(ptr align 4 %v86, <4 x i1> <i1 true, i1 true, i1 true, i1 false>, <4 x float> zeroinitializer), !alias.scope !11, !noalias !12
  %v95 = call <4 x float> @llvm.masked.load.v4f32.p0(ptr align 4 %v87, <4 x i1> <i1 true, i1 true, i1 true, i1 false>, <4 x float> zeroinitializer), !alias.scope !11, !noalias !12
  %v96 = shufflevector <4 x float> %v88, <4 x float> %v89, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %v97 = shufflevector <4 x float> %v90, <4 x float> %v91, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %v98 = shufflevector <4 x float> %v92, <4 x float> %v93, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %v99 = shufflevector <4 x float> %v94, <4 x float> %v95, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %v100 = shufflevector <8 x float> %v96, <8 x float> %v97, <8 x i32> <i32 0, i32 4, i32 8, i32 12, i32 1, i32 5, i32 9, i32 13>
  %v101 = shufflevector <8 x float> %v98, <8 x float> %v99, <8 x i32> <i32 0, i32 4, i32 8, i32 12, i32 1, i32 5, i32 9, i32 13>
  %v102 = shufflevector <8 x float> %v96, <8 x float> %v97, <8 x i32> <i32 2, i32 6, i32 10, i32 14, i32 3, i32 7, i32 11, i32 15>
  %v103 = shufflevector <8 x float> %v98, <8 x float> %v99, <8 x i32> <i32 2, i32 6, i32 10, i32 14, i32 3, i32 7, i32 11, i32 15>
  %v104 = shufflevector <8 x float> %v100, <8 x float> %v101, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 8, i32 9, i32 10, i32 11>
  %v105 = shufflevector <8 x float> %v100, <8 x float> %v101, <8 x i32> <i32 4, i32 5, i32 6, i32 7, i32 12, i32 13, i32 14, i32 15>
  %v106 = shufflevector <8 x float> %v102, <8 x float> %v103, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 8, i32 9, i32 10, i32 11>
  %v107 = fadd reassoc arcp contract afn <8 x float> %v74, %v104
  %v108 = fadd reassoc arcp contract afn <8 x float> %v75, %v105
  %v109 = fadd reassoc arcp contract afn <8 x float> %v76, %v106
  %v110 = fmul reassoc arcp contract afn <8 x float> %v27, %v107
  %v111 = fmul reassoc arcp contract afn <8 x float> %v27, %v108
  %v112 = fmul reassoc arcp contract afn <8 x float> %v27, %v109
  store <8 x ptr> %v41, ptr %s113, align 64
  store <8 x float> %v110, ptr %s114, align 64
  store <8 x float> %v111, ptr %s115, align 64
  store <8 x float> %v112, ptr %s116, align 64
  %v117 = mul <8 x i32> %v37, splat (i32 4)
  %v118 = sext <8 x i32> %v117 to <8 x i64>
  %v119 = getelementptr i8, ptr %v6, <8 x i64> %v118
  store <8 x ptr> %v119, ptr %s120, align 64
  store <8 x float> %v27, ptr %s121, align 64
  %v122 = getelementptr i8, <8 x ptr> %v119, i64 4
  %v125 = bitcast <8 x i1> %v24 to i8
  br label %lane123
lane123:
  %left126 = phi i8 [ %v125, %body13 ], [ %rest127, %latch128 ]
  %v129 = call i8 @llvm.cttz.i8(i8 %left126, i1 true)
  %v130 = zext i8 %v129 to i64
  %v131 = getelementptr ptr, ptr %s113, i64 %v130
  %v132 = load ptr, ptr %v131
  %v133 = getelementptr float, ptr %s114, i64 %v130
  %v134 = load float, ptr %v133
  %v135 = atomicrmw fadd ptr %v132, float %v134 monotonic
  %v136 = getelementptr float, ptr %s115, i64 %v130
  %v137 = load float, ptr %v136
  %v138 = getelementptr i8, ptr %v132, i64 4
  %v139 = atomicrmw fadd ptr %v138, float %v137 monotonic
  %v140 = getelementptr float, ptr %s116, i64 %v130
  %v141 = load float, ptr %v140
  %v142 = getelementptr i8, ptr %v132, i64 8
  %v143 = atomicrmw fadd ptr %v142, float %v141 monotonic
  %v144 = getelementptr ptr, ptr %s120, i64 %v130
  %v145 = load ptr, ptr %v144
  %v146 = getelementptr float, ptr %s121, i64 %v130
  %v147 = load float, ptr %v146
  %v148 = atomicrmw fadd ptr %v145, float %v147 monotonic
  %v149 = getelementptr i8, ptr %v132, i64 12
  %v150 = atomicrmw fadd ptr %v149, float %v134 monotonic
  %v151 = getelementptr i8, ptr %v132, i64 16
  %v152 = atomicrmw fadd ptr %v151, float %v137 monotonic
  %v153 = getelementptr i8, ptr %v132, i64 20
  %v154 = atomicrmw fadd ptr %v153, float %v141 monotonic
  %v155 = getelementptr i8, ptr %v145, i64 4
  %v156 = atomicrmw fadd ptr %v155, float %v147 monotonic
  br label %latch128
latch128:
  %v157 = sub i8 %left126, 1
  %rest127 = and i8 %left126, %v157
  %v158 = icmp ne i8 %rest127, 0
  br i1 %v158, label %lane123, label %done124
done124:
  br label %latch14
latch14:
  %n17 = add nsw i64 %i16, 8
  %v159 = icmp ugt i64 %v19, 8
  br i1 %v159, label %body13, label %done15
done15:
  br label %exit
exit:
  ret void
}

define internal void @weft_task0_plain(ptr noalias %ctx, ptr noalias %box, i64 %begin, i64 %end) noinline nounwind "reciprocal-estimates"="none" {
entry:
  %s113 = alloca <8 x ptr>, align 64
  %s114 = alloca <8 x float>, align 64
  %s115 = alloca <8 x float>, align 64
  %s116 = alloca <8 x float>, align 64
  %s120 = alloca <8 x ptr>, align 64
  %s121 = alloca <8 x float>, align 64
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
  %v45 = call i8 @llvm.cttz.i8(i8 %v44, i1 true)
  %v46 = extractelement <8 x ptr> %v41, i8 %v45
  %v47 = insertelement <8 x ptr> poison, ptr %v46, i64 0
  %v48 = shufflevector <8 x ptr> %v47, <8 x ptr> poison, <8 x i32> zeroinitializer
  %v49 = select <8 x i1> %v24, <8 x ptr> %v41, <8 x ptr> %v48
  %v50 = extractelement <8 x ptr> %v49, i64 0
  %v51 = extractelement <8 x ptr> %v49, i64 1
  %v52 = extractelement <8 x ptr> %v49, i64 2
  %v53 = extractelement <8 x ptr> %v49, i64 3
  %v54 = extractelement <8 x ptr> %v49, i64 4
  %v55 = extractelement <8 x ptr> %v49, i64 5
  %v56 = extractelement <8 x ptr> %v49, i64 6
  %v57 = extractelement <8 x ptr> %v49, i64 7
  %v58 = call <4 x float> @llvm.masked.load.v4f32.p0(ptr align 4 %v50, <4 x i1> <i1 true, i1 true, i1 true, i1 false>, <4 x float> zeroinitializer), !alias.scope !11, !noalias !12
  %v59 = call <4 x float> @llvm.masked.load.v4f32.p0(ptr align 4 %v51, <4 x i1> <i1 true, i1 true, i1 true, i1 false>, <4 x float> zeroinitializer), !alias.scope !11, !noalias !12
  %v60 = call <4 x float> @llvm.masked.load.v4f32.p0(ptr align 4 %v52, <4 x i1> <i1 true, i1 true, i1 true, i1 false>, <4 x float> zeroinitializer), !alias.scope !11, !noalias !12
  %v61 = call <4 x float> @llvm.masked.load.v4f32.p0(ptr align 4 %v53, <4 x i1> <i1 true, i1 true, i1 true, i1 false>, <4 x float> zeroinitializer), !alias.scope !11, !noalias !12
  %v62 = call <4 x float> @llvm.masked.load.v4f32.p0(ptr align 4 %v54, <4 x i1> <i1 true, i1 true, i1 true, i1 false>, <4 x float> zeroinitializer), !alias.scope !11, !noalias !12
  %v63 = call <4 x float> @llvm.masked.load.v4f32.p0(ptr align 4 %v55, <4 x i1> <i1 true, i1 true, i1 true, i1 false>, <4 x float> zeroinitializer), !alias.scope !11, !noalias !12
  %v64 = call <4 x float> @llvm.masked.load.v4f32.p0(ptr align 4 %v56, <4 x i1> <i1 true, i1 true, i1 true, i1 false>, <4 x float> zeroinitializer), !alias.scope !11, !noalias !12
  %v65 = call <4 x float> @llvm.masked.load.v4f32.p0(ptr align 4 %v57, <4 x i1> <i1 true, i1 true, i1 true, i1 false>, <4 x float> zeroinitializer), !alias.scope !11, !noalias !12
  %v66 = shufflevector <4 x float> %v58, <4 x float> %v59, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %v67 = shufflevector <4 x float> %v60, <4 x float> %v61, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %v68 = shufflevector <4 x float> %v62, <4 x float> %v63, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %v69 = shufflevector <4 x float> %v64, <4 x float> %v65, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %v70 = shufflevector <8 x float> %v66, <8 x float> %v67, <8 x i32> <i32 0, i32 4, i32 8, i32 12, i32 1, i32 5, i32 9, i32 13>
  %v71 = shufflevector <8 x float> %v68, <8 x float> %v69, <8 x i32> <i32 0, i32 4, i32 8, i32 12, i32 1, i32 5, i32 9, i32 13>
  %v72 = shufflevector <8 x float> %v66, <8 x float> %v67, <8 x i32> <i32 2, i32 6, i32 10, i32 14, i32 3, i32 7, i32 11, i32 15>
  %v73 = shufflevector <8 x float> %v68, <8 x float> %v69, <8 x i32> <i32 2, i32 6, i32 10, i32 14, i32 3, i32 7, i32 11, i32 15>
  %v74 = shufflevector <8 x float> %v70, <8 x float> %v71, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 8, i32 9, i32 10, i32 11>
  %v75 = shufflevector <8 x float> %v70, <8 x float> %v71, <8 x i32> <i32 4, i32 5, i32 6, i32 7, i32 12, i32 13, i32 14, i32 15>
  %v76 = shufflevector <8 x float> %v72, <8 x float> %v73, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 8, i32 9, i32 10, i32 11>
  %v77 = getelementptr i8, <8 x ptr> %v41, i64 12
  %v78 = getelementptr i8, <8 x ptr> %v77, i64 4
  %v79 = getelementptr i8, <8 x ptr> %v77, i64 8
  %v80 = getelementptr i8, ptr %v50, i64 12
  %v81 = getelementptr i8, ptr %v51, i64 12
  %v82 = getelementptr i8, ptr %v52, i64 12
  %v83 = getelementptr i8, ptr %v53, i64 12
  %v84 = getelementptr i8, ptr %v54, i64 12
  %v85 = getelementptr i8, ptr %v55, i64 12
  %v86 = getelementptr i8, ptr %v56, i64 12
  %v87 = getelementptr i8, ptr %v57, i64 12
  %v88 = call <4 x float> @llvm.masked.load.v4f32.p0(ptr align 4 %v80, <4 x i1> <i1 true, i1 true, i1 true, i1 false>, <4 x float> zeroinitializer), !alias.scope !11, !noalias !12
  %v89 = call <4 x float> @llvm.masked.load.v4f32.p0(ptr align 4 %v81, <4 x i1> <i1 true, i1 true, i1 true, i1 false>, <4 x float> zeroinitializer), !alias.scope !11, !noalias !12
  %v90 = call <4 x float> @llvm.masked.load.v4f32.p0(ptr align 4 %v82, <4 x i1> <i1 true, i1 true, i1 true, i1 false>, <4 x float> zeroinitializer), !alias.scope !11, !noalias !12
  %v91 = call <4 x float> @llvm.masked.load.v4f32.p0(ptr align 4 %v83, <4 x i1> <i1 true, i1 true, i1 true, i1 false>, <4 x float> zeroinitializer), !alias.scope !11, !noalias !12
  %v92 = call <4 x float> @llvm.masked.load.v4f32.p0(ptr align 4 %v84, <4 x i1> <i1 true, i1 true, i1 true, i1 false>, <4 x float> zeroinitializer), !alias.scope !11, !noalias !12
  %v93 = call <4 x float> @llvm.masked.load.v4f32.p0(ptr align 4 %v85, <4 x i1> <i1 true, i1 true, i1 true, i1 false>, <4 x float> zeroinitializer), !alias.scope !11, !noalias !12
  %v94 = call <4 x float> @llvm.masked.load.v4f32.p0(ptr align 4 %v86, <4 x i1> <i1 true, i1 true, i1 true, i1 false>, <4 x float> zeroinitializer), !alias.scope !11, !noalias !12
  %v95 = call <4 x float> @llvm.masked.load.v4f32.p0(ptr align 4 %v87, <4 x i1> <i1 true, i1 true, i1 true, i1 false>, <4 x float> zeroinitializer), !alias.scope !11, !noalias !12
  %v96 = shufflevector <4 x float> %v88, <4 x float> %v89, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %v97 = shufflevector <4 x float> %v90, <4 x float> %v91, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %v98 = shufflevector <4 x float> %v92, <4 x float> %v93, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %v99 = shufflevector <4 x float> %v94, <4 x float> %v95, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %v100 = shufflevector <8 x float> %v96, <8 x float> %v97, <8 x i32> <i32 0, i32 4, i32 8, i32 12, i32 1, i32 5, i32 9, i32 13>
  %v101 = shufflevector <8 x float> %v98, <8 x float> %v99, <8 x i32> <i32 0, i32 4, i32 8, i32 12, i32 1, i32 5, i32 9, i32 13>
  %v102 = shufflevector <8 x float> %v96, <8 x float> %v97, <8 x i32> <i32 2, i32 6, i32 10, i32 14, i32 3, i32 7, i32 11, i32 15>
  %v103 = shufflevector <8 x float> %v98, <8 x float> %v99, <8 x i32> <i32 2, i32 6, i32 10, i32 14, i32 3, i32 7, i32 11, i32 15>
  %v104 = shufflevector <8 x float> %v100, <8 x float> %v101, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 8, i32 9, i32 10, i32 11>
  %v105 = shufflevector <8 x float> %v100, <8 x float> %v101, <8 x i32> <i32 4, i32 5, i32 6, i32 7, i32 12, i32 13, i32 14, i32 15>
  %v106 = shufflevector <8 x float> %v102, <8 x float> %v103, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 8, i32 9, i32 10, i32 11>
  %v107 = fadd reassoc arcp contract afn <8 x float> %v74, %v104
  %v108 = fadd reassoc arcp contract afn <8 x float> %v75, %v105
  %v109 = fadd reassoc arcp contract afn <8 x float> %v76, %v106
  %v110 = fmul reassoc arcp contract afn <8 x float> %v27, %v107
  %v111 = fmul reassoc arcp contract afn <8 x float> %v27, %v108
  %v112 = fmul reassoc arcp contract afn <8 x float> %v27, %v109
  store <8 x ptr> %v41, ptr %s113, align 64
  store <8 x float> %v110, ptr %s114, align 64
  store <8 x float> %v111, ptr %s115, align 64
  store <8 x float> %v112, ptr %s116, align 64
  %v117 = mul <8 x i32> %v37, splat (i32 4)
  %v118 = sext <8 x i32> %v117 to <8 x i64>
  %v119 = getelementptr i8, ptr %v6, <8 x i64> %v118
  store <8 x ptr> %v119, ptr %s120, align 64
  store <8 x float> %v27, ptr %s121, align 64
  %v122 = getelementptr i8, <8 x ptr> %v119, i64 4
  %v125 = bitcast <8 x i1> %v24 to i8
  br label %lane123
lane123:
  %left126 = phi i8 [ %v125, %body13 ], [ %rest127, %latch128 ]
  %v129 = call i8 @llvm.cttz.i8(i8 %left126, i1 true)
  %v130 = zext i8 %v129 to i64
  %v131 = getelementptr ptr, ptr %s113, i64 %v130
  %v132 = load ptr, ptr %v131
  %v133 = getelementptr float, ptr %s114, i64 %v130
  %v134 = load float, ptr %v133
  %v135 = load float, ptr %v132, align 4, !alias.scope !9, !noalias !10
  %v136 = fadd reassoc arcp contract afn float %v135, %v134
  store float %v136, ptr %v132, align 4, !alias.scope !9, !noalias !10
  %v137 = getelementptr float, ptr %s115, i64 %v130
  %v138 = load float, ptr %v137
  %v139 = getelementptr i8, ptr %v132, i64 4
  %v140 = load float, ptr %v139, align 4, !alias.scope !13, !noalias !14
  %v141 = fadd reassoc arcp contract afn float %v140, %v138
  store float %v141, ptr %v139, align 4, !alias.scope !13, !noalias !14
  %v142 = getelementptr float, ptr %s116, i64 %v130
  %v143 = load float, ptr %v142
  %v144 = getelementptr i8, ptr %v132, i64 8
  %v145 = load float, ptr %v144, align 4, !alias.scope !15, !noalias !16
  %v146 = fadd reassoc arcp contract afn float %v145, %v143
  store float %v146, ptr %v144, align 4, !alias.scope !15, !noalias !16
  %v147 = getelementptr ptr, ptr %s120, i64 %v130
  %v148 = load ptr, ptr %v147
  %v149 = getelementptr float, ptr %s121, i64 %v130
  %v150 = load float, ptr %v149
  %v151 = load float, ptr %v148, align 4, !alias.scope !17, !noalias !18
  %v152 = fadd reassoc arcp contract afn float %v151, %v150
  store float %v152, ptr %v148, align 4, !alias.scope !17, !noalias !18
  %v153 = getelementptr i8, ptr %v132, i64 12
  %v154 = load float, ptr %v153, align 4, !alias.scope !9, !noalias !10
  %v155 = fadd reassoc arcp contract afn float %v154, %v134
  store float %v155, ptr %v153, align 4, !alias.scope !9, !noalias !10
  %v156 = getelementptr i8, ptr %v132, i64 16
  %v157 = load float, ptr %v156, align 4, !alias.scope !13, !noalias !14
  %v158 = fadd reassoc arcp contract afn float %v157, %v138
  store float %v158, ptr %v156, align 4, !alias.scope !13, !noalias !14
  %v159 = getelementptr i8, ptr %v132, i64 20
  %v160 = load float, ptr %v159, align 4, !alias.scope !15, !noalias !16
  %v161 = fadd reassoc arcp contract afn float %v160, %v143
  store float %v161, ptr %v159, align 4, !alias.scope !15, !noalias !16
  %v162 = getelementptr i8, ptr %v148, i64 4
  %v163 = load float, ptr %v162, align 4, !alias.scope !17, !noalias !18
  %v164 = fadd reassoc arcp contract afn float %v163, %v150
  store float %v164, ptr %v162, align 4, !alias.scope !17, !noalias !18
  br label %latch128
latch128:
  %v165 = sub i8 %left126, 1
  %rest127 = and i8 %left126, %v165
  %v166 = icmp ne i8 %rest127, 0
  br i1 %v166, label %lane123, label %done124
done124:
  br label %latch14
latch14:
  %n17 = add nsw i64 %i16, 8
  %v167 = icmp ugt i64 %v19, 8
  br i1 %v167, label %body13, label %done15
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
!2 = distinct !{!"field:grid#0", !0}
!3 = distinct !{!"field:grid", !0}
!4 = distinct !{!"field:grid#1", !0}
!5 = distinct !{!"field:grid#2", !0}
!6 = distinct !{!"field:mass", !0}
!7 = !{!1}
!8 = !{!2, !3, !4, !5, !6}
!9 = !{!2}
!10 = !{!1, !4, !5, !6}
!11 = !{!3}
!12 = !{!1, !6}
!13 = !{!4}
!14 = !{!1, !2, !5, !6}
!15 = !{!5}
!16 = !{!1, !2, !4, !6}
!17 = !{!6}
!18 = !{!1, !2, !3, !4, !5}
