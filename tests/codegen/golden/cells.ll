; a golden module


declare i64 @llvm.smax.i64(i64, i64)
declare i64 @llvm.smin.i64(i64, i64)
declare i64 @llvm.umin.i64(i64, i64)
declare <8 x float> @llvm.masked.load.v8f32.p0(ptr, <8 x i1>, <8 x float>)
declare void @llvm.masked.store.v8f32.p0(<8 x float>, ptr, <8 x i1>)

define internal void @weft_task0(ptr noalias %ctx, ptr noalias %box, i64 %begin, i64 %end) noinline nounwind "reciprocal-estimates"="none" {
entry:
  br label %start
start:
  %v1 = getelementptr inbounds i8, ptr %ctx, i64 32
  %v2 = load ptr, ptr %v1, align 8, !invariant.load !{}
  %v3 = getelementptr inbounds i8, ptr %ctx, i64 24
  %v4 = load ptr, ptr %v3, align 8, !invariant.load !{}
  %v5 = mul i64 %begin, 8
  %v6 = add i64 0, %v5
  %v7 = mul i64 %end, 8
  %v8 = add i64 0, %v7
  %v9 = call i64 @llvm.smin.i64(i64 %v8, i64 40)
  %v16 = icmp slt i64 %v6, %v9
  br i1 %v16, label %enter10, label %done13
enter10:
  br label %body11
body11:
  %i14 = phi i64 [ %v6, %enter10 ], [ %n15, %latch12 ]
  %v17 = sub i64 %v9, %i14
  %v18 = call i64 @llvm.umin.i64(i64 %v17, i64 8)
  %v19 = trunc i64 %v18 to i32
  %v20 = insertelement <8 x i32> poison, i32 %v19, i64 0
  %v21 = shufflevector <8 x i32> %v20, <8 x i32> poison, <8 x i32> zeroinitializer
  %v22 = icmp ult <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %v21
  %v23 = mul i64 %i14, 12
  %v24 = getelementptr i8, ptr %v2, i64 %v23
  %v25 = getelementptr i8, ptr %v24, i64 4
  %v26 = getelementptr i8, ptr %v24, i64 8
  %v27 = sext <8 x i1> %v22 to <8 x i32>
  %v28 = shufflevector <8 x i32> %v27, <8 x i32> zeroinitializer, <8 x i32> <i32 0, i32 0, i32 0, i32 1, i32 1, i32 1, i32 2, i32 2>
  %v29 = icmp ne <8 x i32> %v28, zeroinitializer
  %v30 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %v24, <8 x i1> %v29, <8 x float> zeroinitializer), !alias.scope !11, !noalias !12
  %v31 = getelementptr i8, ptr %v24, i64 32
  %v32 = sext <8 x i1> %v22 to <8 x i32>
  %v33 = shufflevector <8 x i32> %v32, <8 x i32> zeroinitializer, <8 x i32> <i32 2, i32 3, i32 3, i32 3, i32 4, i32 4, i32 4, i32 5>
  %v34 = icmp ne <8 x i32> %v33, zeroinitializer
  %v35 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %v31, <8 x i1> %v34, <8 x float> zeroinitializer), !alias.scope !11, !noalias !12
  %v36 = getelementptr i8, ptr %v24, i64 64
  %v37 = sext <8 x i1> %v22 to <8 x i32>
  %v38 = shufflevector <8 x i32> %v37, <8 x i32> zeroinitializer, <8 x i32> <i32 5, i32 5, i32 6, i32 6, i32 6, i32 7, i32 7, i32 7>
  %v39 = icmp ne <8 x i32> %v38, zeroinitializer
  %v40 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %v36, <8 x i1> %v39, <8 x float> zeroinitializer), !alias.scope !11, !noalias !12
  %v41 = shufflevector <8 x float> %v30, <8 x float> %v35, <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %v42 = shufflevector <8 x float> %v40, <8 x float> poison, <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %v43 = shufflevector <16 x float> %v41, <16 x float> %v42, <32 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15, i32 16, i32 17, i32 18, i32 19, i32 20, i32 21, i32 22, i32 23, i32 24, i32 25, i32 26, i32 27, i32 28, i32 29, i32 30, i32 31>
  %v44 = shufflevector <32 x float> %v43, <32 x float> poison, <8 x i32> <i32 0, i32 3, i32 6, i32 9, i32 12, i32 15, i32 18, i32 21>
  %v45 = fcmp ogt <8 x float> %v44, splat (float 0x0000000000000000)
  %v46 = and <8 x i1> %v22, %v45
  %v49 = bitcast <8 x i1> %v46 to i8
  %v50 = icmp ne i8 %v49, 0
  br i1 %v50, label %side47, label %after48
side47:
  %v51 = mul i64 %i14, 12
  %v52 = getelementptr i8, ptr %v4, i64 %v51
  %v53 = getelementptr i8, ptr %v52, i64 4
  %v54 = getelementptr i8, ptr %v52, i64 8
  %v55 = sext <8 x i1> %v46 to <8 x i32>
  %v56 = shufflevector <8 x i32> %v55, <8 x i32> zeroinitializer, <8 x i32> <i32 0, i32 0, i32 0, i32 1, i32 1, i32 1, i32 2, i32 2>
  %v57 = icmp ne <8 x i32> %v56, zeroinitializer
  %v58 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %v52, <8 x i1> %v57, <8 x float> zeroinitializer), !alias.scope !15, !noalias !16
  %v59 = getelementptr i8, ptr %v52, i64 32
  %v60 = sext <8 x i1> %v46 to <8 x i32>
  %v61 = shufflevector <8 x i32> %v60, <8 x i32> zeroinitializer, <8 x i32> <i32 2, i32 3, i32 3, i32 3, i32 4, i32 4, i32 4, i32 5>
  %v62 = icmp ne <8 x i32> %v61, zeroinitializer
  %v63 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %v59, <8 x i1> %v62, <8 x float> zeroinitializer), !alias.scope !15, !noalias !16
  %v64 = getelementptr i8, ptr %v52, i64 64
  %v65 = sext <8 x i1> %v46 to <8 x i32>
  %v66 = shufflevector <8 x i32> %v65, <8 x i32> zeroinitializer, <8 x i32> <i32 5, i32 5, i32 6, i32 6, i32 6, i32 7, i32 7, i32 7>
  %v67 = icmp ne <8 x i32> %v66, zeroinitializer
  %v68 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %v64, <8 x i1> %v67, <8 x float> zeroinitializer), !alias.scope !15, !noalias !16
  %v69 = shufflevector <8 x float> %v58, <8 x float> %v63, <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %v70 = shufflevector <8 x float> %v68, <8 x float> poison, <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %v71 = shufflevector <16 x float> %v69, <16 x float> %v70, <32 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15, i32 16, i32 17, i32 18, i32 19, i32 20, i32 21, i32 22, i32 23, i32 24, i32 25, i32 26, i32 27, i32 28, i32 29, i32 30, i32 31>
  %v72 = shufflevector <32 x float> %v71, <32 x float> poison, <8 x i32> <i32 0, i32 3, i32 6, i32 9, i32 12, i32 15, i32 18, i32 21>
  %v73 = getelementptr i8, ptr %v53, i64 -4
  %v74 = sext <8 x i1> %v46 to <8 x i32>
  %v75 = shufflevector <8 x i32> %v74, <8 x i32> zeroinitializer, <8 x i32> <i32 0, i32 0, i32 0, i32 1, i32 1, i32 1, i32 2, i32 2>
  %v76 = icmp ne <8 x i32> %v75, zeroinitializer
  %v77 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %v73, <8 x i1> %v76, <8 x float> zeroinitializer), !alias.scope !15, !noalias !16
  %v78 = getelementptr i8, ptr %v73, i64 32
  %v79 = sext <8 x i1> %v46 to <8 x i32>
  %v80 = shufflevector <8 x i32> %v79, <8 x i32> zeroinitializer, <8 x i32> <i32 2, i32 3, i32 3, i32 3, i32 4, i32 4, i32 4, i32 5>
  %v81 = icmp ne <8 x i32> %v80, zeroinitializer
  %v82 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %v78, <8 x i1> %v81, <8 x float> zeroinitializer), !alias.scope !15, !noalias !16
  %v83 = getelementptr i8, ptr %v73, i64 64
  %v84 = sext <8 x i1> %v46 to <8 x i32>
  %v85 = shufflevector <8 x i32> %v84, <8 x i32> zeroinitializer, <8 x i32> <i32 5, i32 5, i32 6, i32 6, i32 6, i32 7, i32 7, i32 7>
  %v86 = icmp ne <8 x i32> %v85, zeroinitializer
  %v87 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %v83, <8 x i1> %v86, <8 x float> zeroinitializer), !alias.scope !15, !noalias !16
  %v88 = shufflevector <8 x float> %v77, <8 x float> %v82, <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %v89 = shufflevector <8 x float> %v87, <8 x float> poison, <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %v90 = shufflevector <16 x float> %v88, <16 x float> %v89, <32 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15, i32 16, i32 17, i32 18, i32 19, i32 20, i32 21, i32 22, i32 23, i32 24, i32 25, i32 26, i32 27, i32 28, i32 29, i32 30, i32 31>
  %v91 = shufflevector <32 x float> %v90, <32 x float> poison, <8 x i32> <i32 1, i32 4, i32 7, i32 10, i32 13, i32 16, i32 19, i32 22>
  %v92 = getelementptr i8, ptr %v54, i64 -8
  %v93 = sext <8 x i1> %v46 to <8 x i32>
  %v94 = shufflevector <8 x i32> %v93, <8 x i32> zeroinitializer, <8 x i32> <i32 0, i32 0, i32 0, i32 1, i32 1, i32 1, i32 2, i32 2>
  %v95 = icmp ne <8 x i32> %v94, zeroinitializer
  %v96 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %v92, <8 x i1> %v95, <8 x float> zeroinitializer), !alias.scope !15, !noalias !16
  %v97 = getelementptr i8, ptr %v92, i64 32
  %v98 = sext <8 x i1> %v46 to <8 x i32>
  %v99 = shufflevector <8 x i32> %v98, <8 x i32> zeroinitializer, <8 x i32> <i32 2, i32 3, i32 3, i32 3, i32 4, i32 4, i32 4, i32 5>
  %v100 = icmp ne <8 x i32> %v99, zeroinitializer
  %v101 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %v97, <8 x i1> %v100, <8 x float> zeroinitializer), !alias.scope !15, !noalias !16
  %v102 = getelementptr i8, ptr %v92, i64 64
  %v103 = sext <8 x i1> %v46 to <8 x i32>
  %v104 = shufflevector <8 x i32> %v103, <8 x i32> zeroinitializer, <8 x i32> <i32 5, i32 5, i32 6, i32 6, i32 6, i32 7, i32 7, i32 7>
  %v105 = icmp ne <8 x i32> %v104, zeroinitializer
  %v106 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %v102, <8 x i1> %v105, <8 x float> zeroinitializer), !alias.scope !15, !noalias !16
  %v107 = shufflevector <8 x float> %v96, <8 x float> %v101, <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %v108 = shufflevector <8 x float> %v106, <8 x float> poison, <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %v109 = shufflevector <16 x float> %v107, <16 x float> %v108, <32 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15, i32 16, i32 17, i32 18, i32 19, i32 20, i32 21, i32 22, i32 23, i32 24, i32 25, i32 26, i32 27, i32 28, i32 29, i32 30, i32 31>
  %v110 = shufflevector <32 x float> %v109, <32 x float> poison, <8 x i32> <i32 2, i32 5, i32 8, i32 11, i32 14, i32 17, i32 20, i32 23>
  %v111 = getelementptr i8, ptr %v25, i64 -4
  %v112 = sext <8 x i1> %v46 to <8 x i32>
  %v113 = shufflevector <8 x i32> %v112, <8 x i32> zeroinitializer, <8 x i32> <i32 0, i32 0, i32 0, i32 1, i32 1, i32 1, i32 2, i32 2>
  %v114 = icmp ne <8 x i32> %v113, zeroinitializer
  %v115 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %v111, <8 x i1> %v114, <8 x float> zeroinitializer), !alias.scope !11, !noalias !12
  %v116 = getelementptr i8, ptr %v111, i64 32
  %v117 = sext <8 x i1> %v46 to <8 x i32>
  %v118 = shufflevector <8 x i32> %v117, <8 x i32> zeroinitializer, <8 x i32> <i32 2, i32 3, i32 3, i32 3, i32 4, i32 4, i32 4, i32 5>
  %v119 = icmp ne <8 x i32> %v118, zeroinitializer
  %v120 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %v116, <8 x i1> %v119, <8 x float> zeroinitializer), !alias.scope !11, !noalias !12
  %v121 = getelementptr i8, ptr %v111, i64 64
  %v122 = sext <8 x i1> %v46 to <8 x i32>
  %v123 = shufflevector <8 x i32> %v122, <8 x i32> zeroinitializer, <8 x i32> <i32 5, i32 5, i32 6, i32 6, i32 6, i32 7, i32 7, i32 7>
  %v124 = icmp ne <8 x i32> %v123, zeroinitializer
  %v125 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %v121, <8 x i1> %v124, <8 x float> zeroinitializer), !alias.scope !11, !noalias !12
  %v126 = shufflevector <8 x float> %v115, <8 x float> %v120, <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %v127 = shufflevector <8 x float> %v125, <8 x float> poison, <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %v128 = shufflevector <16 x float> %v126, <16 x float> %v127, <32 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15, i32 16, i32 17, i32 18, i32 19, i32 20, i32 21, i32 22, i32 23, i32 24, i32 25, i32 26, i32 27, i32 28, i32 29, i32 30, i32 31>
  %v129 = shufflevector <32 x float> %v128, <32 x float> poison, <8 x i32> <i32 1, i32 4, i32 7, i32 10, i32 13, i32 16, i32 19, i32 22>
  %v130 = getelementptr i8, ptr %v26, i64 -8
  %v131 = sext <8 x i1> %v46 to <8 x i32>
  %v132 = shufflevector <8 x i32> %v131, <8 x i32> zeroinitializer, <8 x i32> <i32 0, i32 0, i32 0, i32 1, i32 1, i32 1, i32 2, i32 2>
  %v133 = icmp ne <8 x i32> %v132, zeroinitializer
  %v134 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %v130, <8 x i1> %v133, <8 x float> zeroinitializer), !alias.scope !11, !noalias !12
  %v135 = getelementptr i8, ptr %v130, i64 32
  %v136 = sext <8 x i1> %v46 to <8 x i32>
  %v137 = shufflevector <8 x i32> %v136, <8 x i32> zeroinitializer, <8 x i32> <i32 2, i32 3, i32 3, i32 3, i32 4, i32 4, i32 4, i32 5>
  %v138 = icmp ne <8 x i32> %v137, zeroinitializer
  %v139 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %v135, <8 x i1> %v138, <8 x float> zeroinitializer), !alias.scope !11, !noalias !12
  %v140 = getelementptr i8, ptr %v130, i64 64
  %v141 = sext <8 x i1> %v46 to <8 x i32>
  %v142 = shufflevector <8 x i32> %v141, <8 x i32> zeroinitializer, <8 x i32> <i32 5, i32 5, i32 6, i32 6, i32 6, i32 7, i32 7, i32 7>
  %v143 = icmp ne <8 x i32> %v142, zeroinitializer
  %v144 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %v140, <8 x i1> %v143, <8 x float> zeroinitializer), !alias.scope !11, !noalias !12
  %v145 = shufflevector <8 x float> %v134, <8 x float> %v139, <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %v146 = shufflevector <8 x float> %v144, <8 x float> poison, <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %v147 = shufflevector <16 x float> %v145, <16 x float> %v146, <32 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15, i32 16, i32 17, i32 18, i32 19, i32 20, i32 21, i32 22, i32 23, i32 24, i32 25, i32 26, i32 27, i32 28, i32 29, i32 30, i32 31>
  %v148 = shufflevector <32 x float> %v147, <32 x float> poison, <8 x i32> <i32 2, i32 5, i32 8, i32 11, i32 14, i32 17, i32 20, i32 23>
  %v149 = fadd reassoc arcp contract afn <8 x float> %v72, %v44
  %v150 = fadd reassoc arcp contract afn <8 x float> %v91, %v129
  %v151 = fadd reassoc arcp contract afn <8 x float> %v110, %v148
  %v152 = shufflevector <8 x float> %v149, <8 x float> %v150, <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %v153 = shufflevector <8 x float> %v151, <8 x float> poison, <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %v154 = shufflevector <16 x float> %v152, <16 x float> %v153, <32 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15, i32 16, i32 17, i32 18, i32 19, i32 20, i32 21, i32 22, i32 23, i32 24, i32 25, i32 26, i32 27, i32 28, i32 29, i32 30, i32 31>
  %v155 = shufflevector <32 x float> %v154, <32 x float> poison, <8 x i32> <i32 0, i32 8, i32 16, i32 1, i32 9, i32 17, i32 2, i32 10>
  %v156 = sext <8 x i1> %v46 to <8 x i32>
  %v157 = shufflevector <8 x i32> %v156, <8 x i32> zeroinitializer, <8 x i32> <i32 0, i32 0, i32 0, i32 1, i32 1, i32 1, i32 2, i32 2>
  %v158 = icmp ne <8 x i32> %v157, zeroinitializer
  call void @llvm.masked.store.v8f32.p0(<8 x float> %v155, ptr align 4 %v52, <8 x i1> %v158), !alias.scope !15, !noalias !16
  %v159 = shufflevector <8 x float> %v149, <8 x float> %v150, <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %v160 = shufflevector <8 x float> %v151, <8 x float> poison, <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %v161 = shufflevector <16 x float> %v159, <16 x float> %v160, <32 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15, i32 16, i32 17, i32 18, i32 19, i32 20, i32 21, i32 22, i32 23, i32 24, i32 25, i32 26, i32 27, i32 28, i32 29, i32 30, i32 31>
  %v162 = shufflevector <32 x float> %v161, <32 x float> poison, <8 x i32> <i32 18, i32 3, i32 11, i32 19, i32 4, i32 12, i32 20, i32 5>
  %v163 = getelementptr i8, ptr %v52, i64 32
  %v164 = sext <8 x i1> %v46 to <8 x i32>
  %v165 = shufflevector <8 x i32> %v164, <8 x i32> zeroinitializer, <8 x i32> <i32 2, i32 3, i32 3, i32 3, i32 4, i32 4, i32 4, i32 5>
  %v166 = icmp ne <8 x i32> %v165, zeroinitializer
  call void @llvm.masked.store.v8f32.p0(<8 x float> %v162, ptr align 4 %v163, <8 x i1> %v166), !alias.scope !15, !noalias !16
  %v167 = shufflevector <8 x float> %v149, <8 x float> %v150, <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %v168 = shufflevector <8 x float> %v151, <8 x float> poison, <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %v169 = shufflevector <16 x float> %v167, <16 x float> %v168, <32 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15, i32 16, i32 17, i32 18, i32 19, i32 20, i32 21, i32 22, i32 23, i32 24, i32 25, i32 26, i32 27, i32 28, i32 29, i32 30, i32 31>
  %v170 = shufflevector <32 x float> %v169, <32 x float> poison, <8 x i32> <i32 13, i32 21, i32 6, i32 14, i32 22, i32 7, i32 15, i32 23>
  %v171 = getelementptr i8, ptr %v52, i64 64
  %v172 = sext <8 x i1> %v46 to <8 x i32>
  %v173 = shufflevector <8 x i32> %v172, <8 x i32> zeroinitializer, <8 x i32> <i32 5, i32 5, i32 6, i32 6, i32 6, i32 7, i32 7, i32 7>
  %v174 = icmp ne <8 x i32> %v173, zeroinitializer
  call void @llvm.masked.store.v8f32.p0(<8 x float> %v170, ptr align 4 %v171, <8 x i1> %v174), !alias.scope !15, !noalias !16
  br label %after48
after48:
  br label %latch12
latch12:
  %n15 = add nsw i64 %i14, 8
  %v175 = icmp ugt i64 %v17, 8
  br i1 %v175, label %body11, label %done13
done13:
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
  store i64 40, ptr %v3, align 8
  %v4 = sub nsw i64 40, 0
  %v5 = call i64 @llvm.smax.i64(i64 %v4, i64 0)
  %v6 = add i64 %v5, 7
  %v7 = udiv i64 %v6, 8
  %v8 = mul nsw i64 8, 13
  %v9 = call i64 @llvm.smax.i64(i64 %v8, i64 1)
  %v10 = udiv i64 40000, %v9
  %v11 = add i64 %v10, 1
  %v12 = icmp sle i64 %v7, %v11
  br i1 %v12, label %here13, label %shared14
here13:
  call void @weft_task0(ptr %ctx, ptr %s1, i64 0, i64 %v7)
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
!1 = distinct !{!"field:w#0", !0}
!2 = distinct !{!"field:w", !0}
!3 = distinct !{!"field:v#0", !0}
!4 = distinct !{!"field:v", !0}
!5 = distinct !{!"field:v#1", !0}
!6 = distinct !{!"field:v#2", !0}
!7 = distinct !{!"field:w#1", !0}
!8 = distinct !{!"field:w#2", !0}
!9 = !{!1}
!10 = !{!3, !4, !5, !6, !7, !8}
!11 = !{!2}
!12 = !{!3, !4, !5, !6}
!13 = !{!3}
!14 = !{!1, !2, !5, !6, !7, !8}
!15 = !{!4}
!16 = !{!1, !2, !7, !8}
!17 = !{!5}
!18 = !{!1, !2, !3, !6, !7, !8}
!19 = !{!6}
!20 = !{!1, !2, !3, !5, !7, !8}
!21 = !{!7}
!22 = !{!1, !3, !4, !5, !6, !8}
!23 = !{!8}
!24 = !{!1, !3, !4, !5, !6, !7}
