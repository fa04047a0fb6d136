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
  %s73 = alloca <8 x float>, align 64
  %s74 = alloca <8 x float>, align 64
  %s106 = alloca <8 x float>, align 64
  %s107 = alloca <8 x float>, align 64
  %s161 = alloca <8 x float>, align 64
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
  %v69 = add i64 %v56, 16
  %v70 = icmp sle i64 %v69, %v63
  br i1 %v70, label %many64, label %done68
many64:
  store <8 x float> splat (float 0x8000000000000000), ptr %s73, align 64
  store <8 x float> splat (float 0x8000000000000000), ptr %s74, align 64
  br label %body65
body65:
  %i71 = phi i64 [ %v56, %many64 ], [ %n72, %latch66 ]
  %v76 = mul i64 %i71, 4
  %v77 = getelementptr i8, ptr %v2, i64 %v76
  %v78 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %v77, <8 x i1> splat (i1 true), <8 x float> zeroinitializer), !alias.scope !13, !noalias !14
  %v79 = getelementptr i8, ptr %v77, i64 32
  %v80 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %v79, <8 x i1> splat (i1 true), <8 x float> zeroinitializer), !alias.scope !13, !noalias !14
  %v81 = insertelement <8 x float> poison, float %v41, i64 0
  %v82 = shufflevector <8 x float> %v81, <8 x float> poison, <8 x i32> zeroinitializer
  %v83 = fsub reassoc arcp contract afn <8 x float> %v78, %v82
  %v84 = insertelement <8 x float> poison, float %v41, i64 0
  %v85 = shufflevector <8 x float> %v84, <8 x float> poison, <8 x i32> zeroinitializer
  %v86 = fsub reassoc arcp contract afn <8 x float> %v80, %v85
  %v87 = fmul reassoc arcp contract afn <8 x float> %v83, %v83
  %v88 = fmul reassoc arcp contract afn <8 x float> %v86, %v86
  %v89 = mul i64 %i71, 4
  %v90 = getelementptr i8, ptr %v4, i64 %v89
  %v91 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %v90, <8 x i1> splat (i1 true), <8 x float> zeroinitializer), !alias.scope !15, !noalias !16
  %v92 = getelementptr i8, ptr %v90, i64 32
  %v93 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %v92, <8 x i1> splat (i1 true), <8 x float> zeroinitializer), !alias.scope !15, !noalias !16
  %v94 = insertelement <8 x float> poison, float %v42, i64 0
  %v95 = shufflevector <8 x float> %v94, <8 x float> poison, <8 x i32> zeroinitializer
  %v96 = fsub reassoc arcp contract afn <8 x float> %v91, %v95
  %v97 = insertelement <8 x float> poison, float %v42, i64 0
  %v98 = shufflevector <8 x float> %v97, <8 x float> poison, <8 x i32> zeroinitializer
  %v99 = fsub reassoc arcp contract afn <8 x float> %v93, %v98
  %v100 = fmul reassoc arcp contract afn <8 x float> %v96, %v96
  %v101 = fmul reassoc arcp contract afn <8 x float> %v99, %v99
  %v102 = fadd reassoc arcp contract afn <8 x float> %v87, %v100
  %v103 = fadd reassoc arcp contract afn <8 x float> %v88, %v101
  %v104 = fcmp olt <8 x float> %v102, splat (float 0x3FF0000000000000)
  %v105 = fcmp olt <8 x float> %v103, splat (float 0x3FF0000000000000)
  store <8 x float> zeroinitializer, ptr %s106, align 64
  store <8 x float> zeroinitializer, ptr %s107, align 64
  store <8 x float> splat (float 0x8000000000000000), ptr %s106, align 4
  store <8 x float> splat (float 0x8000000000000000), ptr %s107, align 4
  %v108 = and <8 x i1> splat (i1 true), %v104
  %v109 = and <8 x i1> splat (i1 true), %v105
  %v112 = load <8 x float>, ptr %s106, align 4
  %v113 = select <8 x i1> %v108, <8 x float> %v102, <8 x float> %v112
  store <8 x float> %v113, ptr %s106, align 4
  %v114 = load <8 x float>, ptr %s107, align 4
  %v115 = select <8 x i1> %v109, <8 x float> %v103, <8 x float> %v114
  store <8 x float> %v115, ptr %s107, align 4
  br label %after111
after111:
  %v116 = load <8 x float>, ptr %s106, align 4
  %v117 = load <8 x float>, ptr %s107, align 4
  %v118 = load <8 x float>, ptr %s73, align 64
  %v119 = fadd reassoc arcp contract afn <8 x float> %v118, %v116
  %v120 = select <8 x i1> splat (i1 true), <8 x float> %v119, <8 x float> %v118
  store <8 x float> %v120, ptr %s73, align 64
  %v121 = load <8 x float>, ptr %s74, align 64
  %v122 = fadd reassoc arcp contract afn <8 x float> %v121, %v117
  %v123 = select <8 x i1> splat (i1 true), <8 x float> %v122, <8 x float> %v121
  store <8 x float> %v123, ptr %s74, align 64
  br label %turn75
turn75:
  br label %latch66
latch66:
  %n72 = add nsw i64 %i71, 16
  %v124 = add i64 %n72, 16
  %v125 = icmp sle i64 %v124, %v63
  br i1 %v125, label %body65, label %added67
added67:
  %v126 = load <8 x float>, ptr %s43, align 64
  %v127 = load <8 x float>, ptr %s73, align 64
  %v128 = load <8 x float>, ptr %s74, align 64
  %v129 = fadd reassoc arcp contract afn <8 x float> %v126, %v127
  %v130 = fadd reassoc arcp contract afn <8 x float> %v128, %v129
  store <8 x float> %v130, ptr %s43, align 64
  br label %done68
done68:
  %v131 = phi i64 [ %v56, %body45 ], [ %n72, %added67 ]
  br label %head132
head132:
  %i136 = phi i64 [ %v131, %done68 ], [ %n137, %latch134 ]
  %v138 = icmp slt i64 %i136, %v63
  br i1 %v138, label %body133, label %done135
body133:
  %v139 = sub i64 %v63, %i136
  %v140 = call i64 @llvm.umin.i64(i64 %v139, i64 8)
  %v141 = trunc i64 %v140 to i32
  %v142 = insertelement <8 x i32> poison, i32 %v141, i64 0
  %v143 = shufflevector <8 x i32> %v142, <8 x i32> poison, <8 x i32> zeroinitializer
  %v144 = icmp ult <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %v143
  %v145 = mul i64 %i136, 4
  %v146 = getelementptr i8, ptr %v2, i64 %v145
  %v147 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %v146, <8 x i1> %v144, <8 x float> zeroinitializer), !alias.scope !13, !noalias !14
  %v148 = insertelement <8 x float> poison, float %v41, i64 0
  %v149 = shufflevector <8 x float> %v148, <8 x float> poison, <8 x i32> zeroinitializer
  %v150 = fsub reassoc arcp contract afn <8 x float> %v147, %v149
  %v151 = fmul reassoc arcp contract afn <8 x float> %v150, %v150
  %v152 = mul i64 %i136, 4
  %v153 = getelementptr i8, ptr %v4, i64 %v152
  %v154 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %v153, <8 x i1> %v144, <8 x float> zeroinitializer), !alias.scope !15, !noalias !16
  %v155 = insertelement <8 x float> poison, float %v42, i64 0
  %v156 = shufflevector <8 x float> %v155, <8 x float> poison, <8 x i32> zeroinitializer
  %v157 = fsub reassoc arcp contract afn <8 x float> %v154, %v156
  %v158 = fmul reassoc arcp contract afn <8 x float> %v157, %v157
  %v159 = fadd reassoc arcp contract afn <8 x float> %v151, %v158
  %v160 = fcmp olt <8 x float> %v159, splat (float 0x3FF0000000000000)
  store <8 x float> zeroinitializer, ptr %s161, align 64
  store <8 x float> splat (float 0x8000000000000000), ptr %s161, align 4
  %v162 = and <8 x i1> %v144, %v160
  %v165 = load <8 x float>, ptr %s161, align 4
  %v166 = select <8 x i1> %v162, <8 x float> %v159, <8 x float> %v165
  store <8 x float> %v166, ptr %s161, align 4
  br label %after164
after164:
  %v167 = load <8 x float>, ptr %s161, align 4
  %v168 = load <8 x float>, ptr %s43, align 64
  %v169 = fadd reassoc arcp contract afn <8 x float> %v168, %v167
  %v170 = select <8 x i1> %v144, <8 x float> %v169, <8 x float> %v168
  store <8 x float> %v170, ptr %s43, align 64
  br label %latch134
latch134:
  %n137 = add nsw i64 %i136, 8
  br label %head132
done135:
  br label %latch46
latch46:
  %n49 = add nsw i64 %i48, 1
  br label %head44
done47:
  %v171 = load <8 x float>, ptr %s43, align 64
  %v172 = call reassoc arcp contract afn float @llvm.vector.reduce.fadd.v8f32(float 0x8000000000000000, <8 x float> %v171)
  %v173 = load float, ptr %s36, align 4
  %v174 = fadd reassoc arcp contract afn float %v173, %v172
  store float %v174, ptr %s36, align 4
  %v175 = load float, ptr %s36, align 4
  %v176 = mul nsw i64 %i33, 4
  %v177 = getelementptr inbounds i8, ptr %v8, i64 %v176
  store float %v175, ptr %v177, align 4, !alias.scope !19, !noalias !20, !llvm.access.group !0
  br label %latch31
latch31:
  %n34 = add nsw i64 %i33, 1
  br label %head29, !llvm.loop !4
done32:
  %v178 = icmp slt i64 %q16, %v10
  br i1 %v178, label %stretch11, label %done14, !prof !1
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
