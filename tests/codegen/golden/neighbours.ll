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
  %s64 = alloca i32, align 4
  %s76 = alloca <8 x float>, align 64
  %s77 = alloca <8 x float>, align 64
  %s109 = alloca <8 x float>, align 64
  %s110 = alloca <8 x float>, align 64
  %s178 = alloca <8 x float>, align 64
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
  store i32 1024, ptr %s64, align 4
  %v70 = icmp slt i64 %v56, %v63
  %v71 = sub i64 %v63, %v56
  %v72 = icmp uge i64 %v71, 16
  %v73 = and i1 %v70, %v72
  br i1 %v73, label %many65, label %done69
many65:
  store <8 x float> splat (float 0x8000000000000000), ptr %s76, align 64
  store <8 x float> splat (float 0x8000000000000000), ptr %s77, align 64
  br label %body66
body66:
  %i74 = phi i64 [ %v56, %many65 ], [ %n75, %latch67 ]
  %v79 = mul i64 %i74, 4
  %v80 = getelementptr i8, ptr %v2, i64 %v79
  %v81 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %v80, <8 x i1> splat (i1 true), <8 x float> zeroinitializer), !alias.scope !13, !noalias !14
  %v82 = getelementptr i8, ptr %v80, i64 32
  %v83 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %v82, <8 x i1> splat (i1 true), <8 x float> zeroinitializer), !alias.scope !13, !noalias !14
  %v84 = insertelement <8 x float> poison, float %v41, i64 0
  %v85 = shufflevector <8 x float> %v84, <8 x float> poison, <8 x i32> zeroinitializer
  %v86 = fsub reassoc arcp contract afn <8 x float> %v81, %v85
  %v87 = insertelement <8 x float> poison, float %v41, i64 0
  %v88 = shufflevector <8 x float> %v87, <8 x float> poison, <8 x i32> zeroinitializer
  %v89 = fsub reassoc arcp contract afn <8 x float> %v83, %v88
  %v90 = fmul reassoc arcp contract afn <8 x float> %v86, %v86
  %v91 = fmul reassoc arcp contract afn <8 x float> %v89, %v89
  %v92 = mul i64 %i74, 4
  %v93 = getelementptr i8, ptr %v4, i64 %v92
  %v94 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %v93, <8 x i1> splat (i1 true), <8 x float> zeroinitializer), !alias.scope !15, !noalias !16
  %v95 = getelementptr i8, ptr %v93, i64 32
  %v96 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %v95, <8 x i1> splat (i1 true), <8 x float> zeroinitializer), !alias.scope !15, !noalias !16
  %v97 = insertelement <8 x float> poison, float %v42, i64 0
  %v98 = shufflevector <8 x float> %v97, <8 x float> poison, <8 x i32> zeroinitializer
  %v99 = fsub reassoc arcp contract afn <8 x float> %v94, %v98
  %v100 = insertelement <8 x float> poison, float %v42, i64 0
  %v101 = shufflevector <8 x float> %v100, <8 x float> poison, <8 x i32> zeroinitializer
  %v102 = fsub reassoc arcp contract afn <8 x float> %v96, %v101
  %v103 = fmul reassoc arcp contract afn <8 x float> %v99, %v99
  %v104 = fmul reassoc arcp contract afn <8 x float> %v102, %v102
  %v105 = fadd reassoc arcp contract afn <8 x float> %v90, %v103
  %v106 = fadd reassoc arcp contract afn <8 x float> %v91, %v104
  %v107 = fcmp olt <8 x float> %v105, splat (float 0x3FF0000000000000)
  %v108 = fcmp olt <8 x float> %v106, splat (float 0x3FF0000000000000)
  store <8 x float> zeroinitializer, ptr %s109, align 64
  store <8 x float> zeroinitializer, ptr %s110, align 64
  store <8 x float> splat (float 0x8000000000000000), ptr %s109, align 4
  store <8 x float> splat (float 0x8000000000000000), ptr %s110, align 4
  %v111 = and <8 x i1> splat (i1 true), %v107
  %v112 = and <8 x i1> splat (i1 true), %v108
  %v115 = load <8 x float>, ptr %s109, align 4
  %v116 = select <8 x i1> %v111, <8 x float> %v105, <8 x float> %v115
  store <8 x float> %v116, ptr %s109, align 4
  %v117 = load <8 x float>, ptr %s110, align 4
  %v118 = select <8 x i1> %v112, <8 x float> %v106, <8 x float> %v117
  store <8 x float> %v118, ptr %s110, align 4
  br label %after114
after114:
  %v119 = load <8 x float>, ptr %s109, align 4
  %v120 = load <8 x float>, ptr %s110, align 4
  %v121 = load <8 x float>, ptr %s76, align 64
  %v122 = fadd reassoc arcp contract afn <8 x float> %v121, %v119
  %v123 = select <8 x i1> splat (i1 true), <8 x float> %v122, <8 x float> %v121
  store <8 x float> %v123, ptr %s76, align 64
  %v124 = load <8 x float>, ptr %s77, align 64
  %v125 = fadd reassoc arcp contract afn <8 x float> %v124, %v120
  %v126 = select <8 x i1> splat (i1 true), <8 x float> %v125, <8 x float> %v124
  store <8 x float> %v126, ptr %s77, align 64
  br label %turn78
turn78:
  %v129 = load i32, ptr %s64, align 4
  %v130 = sub i32 %v129, 1
  store i32 %v130, ptr %s64, align 4
  %v131 = icmp slt i32 %v130, 0
  br i1 %v131, label %now127, label %on128, !prof !1
now127:
  store i32 1024, ptr %s64, align 4
  %v134 = load atomic i64, ptr %record monotonic, align 8, !alias.scope !11, !noalias !12
  %v135 = icmp eq i64 %v134, 0
  br i1 %v135, label %on133, label %ask132, !prof !2
ask132:
  %v136 = getelementptr inbounds i8, ptr %ctx, i64 0
  %v137 = load ptr, ptr %v136, align 8, !invariant.load !{}
  %v138 = getelementptr inbounds i8, ptr %v137, i64 48
  %v139 = load ptr, ptr %v138, align 8, !invariant.load !{}
  %v140 = call preserve_allcc zeroext i1 %v139(ptr %record) nounwind willreturn cold memory(inaccessiblemem: readwrite)
  br i1 %v140, label %exit, label %on133
on133:
  br label %on128
on128:
  br label %latch67
latch67:
  %n75 = add nsw i64 %i74, 16
  %v141 = sub i64 %v63, %n75
  %v142 = icmp uge i64 %v141, 16
  br i1 %v142, label %body66, label %added68
added68:
  %v143 = load <8 x float>, ptr %s43, align 64
  %v144 = load <8 x float>, ptr %s76, align 64
  %v145 = load <8 x float>, ptr %s77, align 64
  %v146 = fadd reassoc arcp contract afn <8 x float> %v143, %v144
  %v147 = fadd reassoc arcp contract afn <8 x float> %v145, %v146
  store <8 x float> %v147, ptr %s43, align 64
  br label %done69
done69:
  %v148 = phi i64 [ %v56, %body45 ], [ %n75, %added68 ]
  %v155 = icmp slt i64 %v148, %v63
  br i1 %v155, label %enter149, label %done152
enter149:
  br label %body150
body150:
  %i153 = phi i64 [ %v148, %enter149 ], [ %n154, %latch151 ]
  %v156 = sub i64 %v63, %i153
  %v157 = call i64 @llvm.umin.i64(i64 %v156, i64 8)
  %v158 = trunc i64 %v157 to i32
  %v159 = insertelement <8 x i32> poison, i32 %v158, i64 0
  %v160 = shufflevector <8 x i32> %v159, <8 x i32> poison, <8 x i32> zeroinitializer
  %v161 = icmp ult <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %v160
  %v162 = mul i64 %i153, 4
  %v163 = getelementptr i8, ptr %v2, i64 %v162
  %v164 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %v163, <8 x i1> %v161, <8 x float> zeroinitializer), !alias.scope !13, !noalias !14
  %v165 = insertelement <8 x float> poison, float %v41, i64 0
  %v166 = shufflevector <8 x float> %v165, <8 x float> poison, <8 x i32> zeroinitializer
  %v167 = fsub reassoc arcp contract afn <8 x float> %v164, %v166
  %v168 = fmul reassoc arcp contract afn <8 x float> %v167, %v167
  %v169 = mul i64 %i153, 4
  %v170 = getelementptr i8, ptr %v4, i64 %v169
  %v171 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %v170, <8 x i1> %v161, <8 x float> zeroinitializer), !alias.scope !15, !noalias !16
  %v172 = insertelement <8 x float> poison, float %v42, i64 0
  %v173 = shufflevector <8 x float> %v172, <8 x float> poison, <8 x i32> zeroinitializer
  %v174 = fsub reassoc arcp contract afn <8 x float> %v171, %v173
  %v175 = fmul reassoc arcp contract afn <8 x float> %v174, %v174
  %v176 = fadd reassoc arcp contract afn <8 x float> %v168, %v175
  %v177 = fcmp olt <8 x float> %v176, splat (float 0x3FF0000000000000)
  store <8 x float> zeroinitializer, ptr %s178, align 64
  store <8 x float> splat (float 0x8000000000000000), ptr %s178, align 4
  %v179 = and <8 x i1> %v161, %v177
  %v182 = load <8 x float>, ptr %s178, align 4
  %v183 = select <8 x i1> %v179, <8 x float> %v176, <8 x float> %v182
  store <8 x float> %v183, ptr %s178, align 4
  br label %after181
after181:
  %v184 = load <8 x float>, ptr %s178, align 4
  %v185 = load <8 x float>, ptr %s43, align 64
  %v186 = fadd reassoc arcp contract afn <8 x float> %v185, %v184
  %v187 = select <8 x i1> %v161, <8 x float> %v186, <8 x float> %v185
  store <8 x float> %v187, ptr %s43, align 64
  br label %latch151
latch151:
  %n154 = add nsw i64 %i153, 8
  %v188 = icmp ugt i64 %v156, 8
  br i1 %v188, label %body150, label %done152
done152:
  br label %latch46
latch46:
  %n49 = add nsw i64 %i48, 1
  br label %head44
done47:
  %v189 = load <8 x float>, ptr %s43, align 64
  %v190 = call reassoc arcp contract afn float @llvm.vector.reduce.fadd.v8f32(float 0x8000000000000000, <8 x float> %v189)
  %v191 = load float, ptr %s36, align 4
  %v192 = fadd reassoc arcp contract afn float %v191, %v190
  store float %v192, ptr %s36, align 4
  %v193 = load float, ptr %s36, align 4
  %v194 = mul nsw i64 %i33, 4
  %v195 = getelementptr inbounds i8, ptr %v8, i64 %v194
  store float %v193, ptr %v195, align 4, !alias.scope !19, !noalias !20, !llvm.access.group !0
  br label %latch31
latch31:
  %n34 = add nsw i64 %i33, 1
  br label %head29, !llvm.loop !4
done32:
  %v196 = icmp slt i64 %q16, %v10
  br i1 %v196, label %stretch11, label %done14, !prof !1
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
