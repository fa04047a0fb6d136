; a golden module


declare i64 @llvm.smax.i64(i64, i64)
declare <8 x float> @llvm.masked.load.v8f32.p0(ptr, <8 x i1>, <8 x float>)
declare i64 @llvm.umin.i64(i64, i64)
declare float @llvm.vector.reduce.fadd.v8f32(float, <8 x float>)

define internal void @weft_task0(ptr noalias %ctx, ptr noalias %box, i64 %begin, i64 %end) noinline nounwind "reciprocal-estimates"="none" {
entry:
  %record.at = getelementptr inbounds i8, ptr %ctx, i64 8
  %record = load ptr, ptr %record.at, align 8, !invariant.load !{}
  %s36 = alloca float, align 8
  %s43 = alloca <8 x float>, align 64
  %s75 = alloca <8 x float>, align 64
  %s76 = alloca <8 x float>, align 64
  %s108 = alloca <8 x float>, align 64
  %s109 = alloca <8 x float>, align 64
  %s163 = alloca <8 x float>, align 64
  br label %start
start:
  %v1 = getelementptr inbounds i8, ptr %ctx, i64 32
  %v2 = load ptr, ptr %v1, align 8, !invariant.load !{}
  %v3 = getelementptr inbounds i8, ptr %ctx, i64 40
  %v4 = load ptr, ptr %v3, align 8, !invariant.load !{}
  %v5 = getelementptr inbounds i8, ptr %ctx, i64 24
  %v6 = load ptr, ptr %v5, align 8, !invariant.load !{}
  %v7 = getelementptr inbounds i8, ptr %ctx, i64 48
  %v8 = load ptr, ptr %v7, align 8, !invariant.load !{}
  %v9 = add nsw i64 0, %begin
  %v10 = add nsw i64 0, %end
  br label %stretch11
stretch11:
  %p15 = phi i64 [ %v9, %start ], [ %q16, %done32 ]
  %v17 = sub i64 %v10, %p15
  %v18 = icmp sgt i64 %v17, 256
  br i1 %v18, label %more12, label %inside13, !prof !1
more12:
  %v21 = load atomic i64, ptr %record monotonic, align 8, !alias.scope !11, !noalias !12
  %v22 = icmp eq i64 %v21, 0
  br i1 %v22, label %on20, label %ask19, !prof !2
ask19:
  %v23 = getelementptr inbounds i8, ptr %ctx, i64 0
  %v24 = load ptr, ptr %v23, align 8, !invariant.load !{}
  %v25 = getelementptr inbounds i8, ptr %v24, i64 48
  %v26 = load ptr, ptr %v25, align 8, !invariant.load !{}
  %v27 = call preserve_allcc zeroext i1 %v26(ptr %record) nounwind willreturn cold memory(inaccessiblemem: readwrite)
  br i1 %v27, label %exit, label %on20
on20:
  %v28 = add i64 %p15, 256
  br label %inside13
inside13:
  %q16 = phi i64 [ %v10, %stretch11 ], [ %v28, %on20 ]
  br label %head29
head29:
  %i33 = phi i64 [ %p15, %inside13 ], [ %n34, %latch31 ]
  %v35 = icmp slt i64 %i33, %q16
  br i1 %v35, label %body30, label %done32
body30:
  store float 0x0000000000000000, ptr %s36, align 4
  %v37 = mul nsw i64 %i33, 4
  %v38 = getelementptr inbounds i8, ptr %v2, i64 %v37
  %v39 = mul nsw i64 %i33, 4
  %v40 = getelementptr inbounds i8, ptr %v4, i64 %v39
  %v41 = load float, ptr %v38, align 4, !alias.scope !13, !noalias !14, !llvm.access.group !0
  %v42 = load float, ptr %v40, align 4, !alias.scope !15, !noalias !16, !llvm.access.group !0
  store <8 x float> splat (float 0x8000000000000000), ptr %s43, align 64
  br label %head44
head44:
  %i48 = phi i64 [ 0, %body30 ], [ %n49, %latch46 ]
  %v50 = icmp slt i64 %i48, 2
  br i1 %v50, label %body45, label %done47
body45:
  %v51 = mul nsw i64 %i33, 8
  %v52 = mul nsw i64 %i48, 4
  %v53 = getelementptr inbounds i8, ptr %v6, i64 %v51
  %v54 = getelementptr inbounds i8, ptr %v53, i64 %v52
  %v55 = load i32, ptr %v54, align 4, !alias.scope !17, !noalias !18, !llvm.access.group !0
  %v56 = sext i32 %v55 to i64
  %v57 = mul nsw i64 %i33, 8
  %v58 = mul nsw i64 %i48, 4
  %v59 = getelementptr inbounds i8, ptr %v6, i64 %v57
  %v60 = getelementptr inbounds i8, ptr %v59, i64 %v58
  %v61 = getelementptr inbounds i8, ptr %v60, i64 8
  %v62 = load i32, ptr %v61, align 4, !alias.scope !17, !noalias !18, !llvm.access.group !0
  %v63 = sext i32 %v62 to i64
  %v69 = icmp slt i64 %v56, %v63
  %v70 = sub i64 %v63, %v56
  %v71 = icmp uge i64 %v70, 16
  %v72 = and i1 %v69, %v71
  br i1 %v72, label %many64, label %done68
many64:
  store <8 x float> splat (float 0x8000000000000000), ptr %s75, align 64
  store <8 x float> splat (float 0x8000000000000000), ptr %s76, align 64
  br label %body65
body65:
  %i73 = phi i64 [ %v56, %many64 ], [ %n74, %latch66 ]
  %v78 = mul i64 %i73, 4
  %v79 = getelementptr i8, ptr %v2, i64 %v78
  %v80 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %v79, <8 x i1> splat (i1 true), <8 x float> zeroinitializer), !alias.scope !13, !noalias !14
  %v81 = getelementptr i8, ptr %v79, i64 32
  %v82 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %v81, <8 x i1> splat (i1 true), <8 x float> zeroinitializer), !alias.scope !13, !noalias !14
  %v83 = insertelement <8 x float> poison, float %v41, i64 0
  %v84 = shufflevector <8 x float> %v83, <8 x float> poison, <8 x i32> zeroinitializer
  %v85 = fsub reassoc arcp contract afn <8 x float> %v80, %v84
  %v86 = insertelement <8 x float> poison, float %v41, i64 0
  %v87 = shufflevector <8 x float> %v86, <8 x float> poison, <8 x i32> zeroinitializer
  %v88 = fsub reassoc arcp contract afn <8 x float> %v82, %v87
  %v89 = fmul reassoc arcp contract afn <8 x float> %v85, %v85
  %v90 = fmul reassoc arcp contract afn <8 x float> %v88, %v88
  %v91 = mul i64 %i73, 4
  %v92 = getelementptr i8, ptr %v4, i64 %v91
  %v93 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %v92, <8 x i1> splat (i1 true), <8 x float> zeroinitializer), !alias.scope !15, !noalias !16
  %v94 = getelementptr i8, ptr %v92, i64 32
  %v95 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %v94, <8 x i1> splat (i1 true), <8 x float> zeroinitializer), !alias.scope !15, !noalias !16
  %v96 = insertelement <8 x float> poison, float %v42, i64 0
  %v97 = shufflevector <8 x float> %v96, <8 x float> poison, <8 x i32> zeroinitializer
  %v98 = fsub reassoc arcp contract afn <8 x float> %v93, %v97
  %v99 = insertelement <8 x float> poison, float %v42, i64 0
  %v100 = shufflevector <8 x float> %v99, <8 x float> poison, <8 x i32> zeroinitializer
  %v101 = fsub reassoc arcp contract afn <8 x float> %v95, %v100
  %v102 = fmul reassoc arcp contract afn <8 x float> %v98, %v98
  %v103 = fmul reassoc arcp contract afn <8 x float> %v101, %v101
  %v104 = fadd reassoc arcp contract afn <8 x float> %v89, %v102
  %v105 = fadd reassoc arcp contract afn <8 x float> %v90, %v103
  %v106 = fcmp olt <8 x float> %v104, splat (float 0x3FF0000000000000)
  %v107 = fcmp olt <8 x float> %v105, splat (float 0x3FF0000000000000)
  store <8 x float> zeroinitializer, ptr %s108, align 64
  store <8 x float> zeroinitializer, ptr %s109, align 64
  store <8 x float> splat (float 0x8000000000000000), ptr %s108, align 4
  store <8 x float> splat (float 0x8000000000000000), ptr %s109, align 4
  %v110 = and <8 x i1> splat (i1 true), %v106
  %v111 = and <8 x i1> splat (i1 true), %v107
  %v114 = load <8 x float>, ptr %s108, align 4
  %v115 = select <8 x i1> %v110, <8 x float> %v104, <8 x float> %v114
  store <8 x float> %v115, ptr %s108, align 4
  %v116 = load <8 x float>, ptr %s109, align 4
  %v117 = select <8 x i1> %v111, <8 x float> %v105, <8 x float> %v116
  store <8 x float> %v117, ptr %s109, align 4
  br label %after113
after113:
  %v118 = load <8 x float>, ptr %s108, align 4
  %v119 = load <8 x float>, ptr %s109, align 4
  %v120 = load <8 x float>, ptr %s75, align 64
  %v121 = fadd reassoc arcp contract afn <8 x float> %v120, %v118
  %v122 = select <8 x i1> splat (i1 true), <8 x float> %v121, <8 x float> %v120
  store <8 x float> %v122, ptr %s75, align 64
  %v123 = load <8 x float>, ptr %s76, align 64
  %v124 = fadd reassoc arcp contract afn <8 x float> %v123, %v119
  %v125 = select <8 x i1> splat (i1 true), <8 x float> %v124, <8 x float> %v123
  store <8 x float> %v125, ptr %s76, align 64
  br label %turn77
turn77:
  br label %latch66
latch66:
  %n74 = add nsw i64 %i73, 16
  %v126 = sub i64 %v63, %n74
  %v127 = icmp uge i64 %v126, 16
  br i1 %v127, label %body65, label %added67
added67:
  %v128 = load <8 x float>, ptr %s43, align 64
  %v129 = load <8 x float>, ptr %s75, align 64
  %v130 = load <8 x float>, ptr %s76, align 64
  %v131 = fadd reassoc arcp contract afn <8 x float> %v128, %v129
  %v132 = fadd reassoc arcp contract afn <8 x float> %v130, %v131
  store <8 x float> %v132, ptr %s43, align 64
  br label %done68
done68:
  %v133 = phi i64 [ %v56, %body45 ], [ %n74, %added67 ]
  %v140 = icmp slt i64 %v133, %v63
  br i1 %v140, label %enter134, label %done137
enter134:
  br label %body135
body135:
  %i138 = phi i64 [ %v133, %enter134 ], [ %n139, %latch136 ]
  %v141 = sub i64 %v63, %i138
  %v142 = call i64 @llvm.umin.i64(i64 %v141, i64 8)
  %v143 = trunc i64 %v142 to i32
  %v144 = insertelement <8 x i32> poison, i32 %v143, i64 0
  %v145 = shufflevector <8 x i32> %v144, <8 x i32> poison, <8 x i32> zeroinitializer
  %v146 = icmp ult <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %v145
  %v147 = mul i64 %i138, 4
  %v148 = getelementptr i8, ptr %v2, i64 %v147
  %v149 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %v148, <8 x i1> %v146, <8 x float> zeroinitializer), !alias.scope !13, !noalias !14
  %v150 = insertelement <8 x float> poison, float %v41, i64 0
  %v151 = shufflevector <8 x float> %v150, <8 x float> poison, <8 x i32> zeroinitializer
  %v152 = fsub reassoc arcp contract afn <8 x float> %v149, %v151
  %v153 = fmul reassoc arcp contract afn <8 x float> %v152, %v152
  %v154 = mul i64 %i138, 4
  %v155 = getelementptr i8, ptr %v4, i64 %v154
  %v156 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %v155, <8 x i1> %v146, <8 x float> zeroinitializer), !alias.scope !15, !noalias !16
  %v157 = insertelement <8 x float> poison, float %v42, i64 0
  %v158 = shufflevector <8 x float> %v157, <8 x float> poison, <8 x i32> zeroinitializer
  %v159 = fsub reassoc arcp contract afn <8 x float> %v156, %v158
  %v160 = fmul reassoc arcp contract afn <8 x float> %v159, %v159
  %v161 = fadd reassoc arcp contract afn <8 x float> %v153, %v160
  %v162 = fcmp olt <8 x float> %v161, splat (float 0x3FF0000000000000)
  store <8 x float> zeroinitializer, ptr %s163, align 64
  store <8 x float> splat (float 0x8000000000000000), ptr %s163, align 4
  %v164 = and <8 x i1> %v146, %v162
  %v167 = load <8 x float>, ptr %s163, align 4
  %v168 = select <8 x i1> %v164, <8 x float> %v161, <8 x float> %v167
  store <8 x float> %v168, ptr %s163, align 4
  br label %after166
after166:
  %v169 = load <8 x float>, ptr %s163, align 4
  %v170 = load <8 x float>, ptr %s43, align 64
  %v171 = fadd reassoc arcp contract afn <8 x float> %v170, %v169
  %v172 = select <8 x i1> %v146, <8 x float> %v171, <8 x float> %v170
  store <8 x float> %v172, ptr %s43, align 64
  br label %latch136
latch136:
  %n139 = add nsw i64 %i138, 8
  %v173 = icmp ugt i64 %v141, 8
  br i1 %v173, label %body135, label %done137
done137:
  br label %latch46
latch46:
  %n49 = add nsw i64 %i48, 1
  br label %head44
done47:
  %v174 = load <8 x float>, ptr %s43, align 64
  %v175 = call reassoc arcp contract afn float @llvm.vector.reduce.fadd.v8f32(float 0x8000000000000000, <8 x float> %v174)
  %v176 = load float, ptr %s36, align 4
  %v177 = fadd reassoc arcp contract afn float %v176, %v175
  store float %v177, ptr %s36, align 4
  %v178 = load float, ptr %s36, align 4
  %v179 = mul nsw i64 %i33, 4
  %v180 = getelementptr inbounds i8, ptr %v8, i64 %v179
  store float %v178, ptr %v180, align 4, !alias.scope !19, !noalias !20, !llvm.access.group !0
  br label %latch31
latch31:
  %n34 = add nsw i64 %i33, 1
  br label %head29, !llvm.loop !4
done32:
  %v181 = icmp slt i64 %q16, %v10
  br i1 %v181, label %stretch11, label %done14, !prof !1
done14:
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
  store i64 60, ptr %v3, align 8
  %v4 = sub nsw i64 60, 0
  %v5 = call i64 @llvm.smax.i64(i64 %v4, i64 0)
  %v6 = mul nsw i64 1, 776
  %v7 = call i64 @llvm.smax.i64(i64 %v6, i64 1)
  %v8 = udiv i64 40000, %v7
  %v9 = add i64 %v8, 1
  %v10 = icmp sle i64 %v5, %v9
  br i1 %v10, label %here11, label %shared12
here11:
  call void @weft_task0(ptr %ctx, ptr %s1, i64 0, i64 %v5)
  br label %done13
shared12:
  %v14 = getelementptr inbounds i8, ptr %ctx, i64 0
  %v15 = load ptr, ptr %v14, align 8, !invariant.load !{}
  %v16 = getelementptr inbounds i8, ptr %v15, i64 16
  %v17 = load i64, ptr %v16, align 8, !invariant.load !{}
  %v18 = getelementptr inbounds i8, ptr %ctx, i64 0
  %v19 = load ptr, ptr %v18, align 8, !invariant.load !{}
  %v20 = getelementptr inbounds i8, ptr %v19, i64 0
  %v21 = load ptr, ptr %v20, align 8, !invariant.load !{}
  call void %v21(i64 %v17, ptr @weft_task0, ptr %ctx, ptr %s1, i64 %v5, i64 %v9)
  br label %done13
done13:
  br label %exit
exit:
  ret void
}

!0 = distinct !{}
!1 = !{!"branch_weights", i32 1, i32 1000000}
!2 = !{!"branch_weights", i32 1000000, i32 1}
!3 = !{!"llvm.loop.parallel_accesses", !0}
!4 = distinct !{!4, !3}
!5 = distinct !{!"fields"}
!6 = distinct !{!"record", !5}
!7 = distinct !{!"field:x", !5}
!8 = distinct !{!"field:y", !5}
!9 = distinct !{!"field:start", !5}
!10 = distinct !{!"field:near", !5}
!11 = !{!6}
!12 = !{!7, !8, !9, !10}
!13 = !{!7}
!14 = !{!6, !8, !9, !10}
!15 = !{!8}
!16 = !{!6, !7, !9, !10}
!17 = !{!9}
!18 = !{!6, !7, !8, !10}
!19 = !{!10}
!20 = !{!6, !7, !8, !9}
