; a golden module


declare i64 @llvm.smax.i64(i64, i64)
declare <8 x float> @llvm.masked.load.v8f32.p0(ptr, <8 x i1>, <8 x float>)
declare i64 @llvm.umin.i64(i64, i64)
declare float @llvm.vector.reduce.fadd.v8f32(float, <8 x float>)

define internal void @weft_task0(ptr noalias %ctx, ptr noalias %box, i64 %begin, i64 %end) noinline nounwind "reciprocal-estimates"="none" {
entry:
  %record.at = getelementptr inbounds i8, ptr %ctx, i64 8
  %record = load ptr, ptr %record.at, align 8, !invariant.load !{}
  %s37 = alloca float, align 8
  %s44 = alloca <8 x float>, align 64
  %s74 = alloca <8 x float>, align 64
  %s75 = alloca <8 x float>, align 64
  %s76 = alloca i32, align 4
  %s112 = alloca <8 x float>, align 64
  %s113 = alloca <8 x float>, align 64
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
  %v10 = add nsw i64 0, %begin
  %v11 = add nsw i64 0, %end
  br label %stretch12
stretch12:
  %p16 = phi i64 [ %v10, %start ], [ %q17, %done33 ]
  %v18 = sub i64 %v11, %p16
  %v19 = icmp sgt i64 %v18, 256
  br i1 %v19, label %more13, label %inside14, !prof !1
more13:
  %v22 = load atomic i64, ptr %record monotonic, align 8, !alias.scope !11, !noalias !12
  %v23 = icmp eq i64 %v22, 0
  br i1 %v23, label %on21, label %ask20, !prof !2
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
  br label %head30
head30:
  %i34 = phi i64 [ %p16, %inside14 ], [ %n35, %latch32 ]
  %v36 = icmp slt i64 %i34, %q17
  br i1 %v36, label %body31, label %done33
body31:
  store float 0x0000000000000000, ptr %s37, align 4
  %v38 = mul nsw i64 %i34, 4
  %v39 = getelementptr inbounds i8, ptr %v2, i64 %v38
  %v40 = mul nsw i64 %i34, 4
  %v41 = getelementptr inbounds i8, ptr %v4, i64 %v40
  %v42 = load float, ptr %v39, align 4, !alias.scope !13, !noalias !14, !llvm.access.group !0
  %v43 = load float, ptr %v41, align 4, !alias.scope !15, !noalias !16, !llvm.access.group !0
  store <8 x float> splat (float 0x8000000000000000), ptr %s44, align 4
  br label %head45
head45:
  %i49 = phi i64 [ 0, %body31 ], [ %n50, %latch47 ]
  %v51 = icmp slt i64 %i49, 2
  br i1 %v51, label %body46, label %done48
body46:
  %v52 = mul nsw i64 %i34, 8
  %v53 = mul nsw i64 %i49, 4
  %v54 = getelementptr inbounds i8, ptr %v6, i64 %v52
  %v55 = getelementptr inbounds i8, ptr %v54, i64 %v53
  %v56 = load i32, ptr %v55, align 4, !alias.scope !17, !noalias !18, !llvm.access.group !0
  %v57 = sext i32 %v56 to i64
  %v58 = mul nsw i64 %i34, 8
  %v59 = mul nsw i64 %i49, 4
  %v60 = getelementptr inbounds i8, ptr %v6, i64 %v58
  %v61 = getelementptr inbounds i8, ptr %v60, i64 %v59
  %v62 = getelementptr inbounds i8, ptr %v61, i64 8
  %v63 = load i32, ptr %v62, align 4, !alias.scope !17, !noalias !18, !llvm.access.group !0
  %v64 = sext i32 %v63 to i64
  %v65 = sub i64 %v64, %v57
  %v66 = and i64 %v65, 15
  %v67 = icmp slt i64 %v57, %v64
  %v68 = select i1 %v67, i64 %v66, i64 0
  %v69 = sub i64 %v64, %v68
  %v70 = icmp slt i64 %v57, %v69
  br i1 %v70, label %then71, label %done73
then71:
  store <8 x float> splat (float 0x8000000000000000), ptr %s74, align 4
  store <8 x float> splat (float 0x8000000000000000), ptr %s75, align 4
  store i32 1024, ptr %s76, align 4
  %v84 = icmp slt i64 %v57, %v69
  br i1 %v84, label %enter77, label %done80
enter77:
  br label %body78
body78:
  %i82 = phi i64 [ %v57, %enter77 ], [ %n83, %latch79 ]
  %v85 = sub i64 %v69, %i82
  %v86 = mul i64 %i82, 4
  %v87 = getelementptr i8, ptr %v2, i64 %v86
  %v88 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %v87, <8 x i1> splat (i1 true), <8 x float> zeroinitializer), !alias.scope !13, !noalias !14
  %v89 = getelementptr i8, ptr %v87, i64 32
  %v90 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %v89, <8 x i1> splat (i1 true), <8 x float> zeroinitializer), !alias.scope !13, !noalias !14
  %v91 = insertelement <8 x float> poison, float %v42, i64 0
  %v92 = shufflevector <8 x float> %v91, <8 x float> poison, <8 x i32> zeroinitializer
  %v93 = fsub reassoc arcp contract afn <8 x float> %v88, %v92
  %v94 = fsub reassoc arcp contract afn <8 x float> %v90, %v92
  %v95 = fmul reassoc arcp contract afn <8 x float> %v93, %v93
  %v96 = fmul reassoc arcp contract afn <8 x float> %v94, %v94
  %v97 = mul i64 %i82, 4
  %v98 = getelementptr i8, ptr %v4, i64 %v97
  %v99 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %v98, <8 x i1> splat (i1 true), <8 x float> zeroinitializer), !alias.scope !15, !noalias !16
  %v100 = getelementptr i8, ptr %v98, i64 32
  %v101 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %v100, <8 x i1> splat (i1 true), <8 x float> zeroinitializer), !alias.scope !15, !noalias !16
  %v102 = insertelement <8 x float> poison, float %v43, i64 0
  %v103 = shufflevector <8 x float> %v102, <8 x float> poison, <8 x i32> zeroinitializer
  %v104 = fsub reassoc arcp contract afn <8 x float> %v99, %v103
  %v105 = fsub reassoc arcp contract afn <8 x float> %v101, %v103
  %v106 = fmul reassoc arcp contract afn <8 x float> %v104, %v104
  %v107 = fmul reassoc arcp contract afn <8 x float> %v105, %v105
  %v108 = fadd reassoc arcp contract afn <8 x float> %v95, %v106
  %v109 = fadd reassoc arcp contract afn <8 x float> %v96, %v107
  %v110 = fcmp olt <8 x float> %v108, splat (float 0x3FF0000000000000)
  %v111 = fcmp olt <8 x float> %v109, splat (float 0x3FF0000000000000)
  store <8 x float> splat (float 0x0000000000000000), ptr %s112, align 4
  store <8 x float> splat (float 0x0000000000000000), ptr %s113, align 4
  store <8 x float> splat (float 0x8000000000000000), ptr %s112, align 4
  store <8 x float> splat (float 0x8000000000000000), ptr %s113, align 4
  %v114 = and <8 x i1> splat (i1 true), %v110
  %v115 = and <8 x i1> splat (i1 true), %v111
  %v116 = load <8 x float>, ptr %s112, align 4
  %v117 = select <8 x i1> %v114, <8 x float> %v108, <8 x float> %v116
  store <8 x float> %v117, ptr %s112, align 4
  %v118 = load <8 x float>, ptr %s113, align 4
  %v119 = select <8 x i1> %v115, <8 x float> %v109, <8 x float> %v118
  store <8 x float> %v119, ptr %s113, align 4
  %v120 = load <8 x float>, ptr %s112, align 4
  %v121 = load <8 x float>, ptr %s113, align 4
  %v122 = load <8 x float>, ptr %s74, align 4
  %v123 = fadd reassoc arcp contract afn <8 x float> %v122, %v120
  %v124 = select <8 x i1> splat (i1 true), <8 x float> %v123, <8 x float> %v122
  store <8 x float> %v124, ptr %s74, align 4
  %v125 = load <8 x float>, ptr %s75, align 4
  %v126 = fadd reassoc arcp contract afn <8 x float> %v125, %v121
  %v127 = select <8 x i1> splat (i1 true), <8 x float> %v126, <8 x float> %v125
  store <8 x float> %v127, ptr %s75, align 4
  br label %check81
check81:
  %v130 = load i32, ptr %s76, align 4
  %v131 = sub i32 %v130, 1
  store i32 %v131, ptr %s76, align 4
  %v132 = icmp slt i32 %v131, 0
  br i1 %v132, label %now128, label %on129, !prof !1
now128:
  store i32 1024, ptr %s76, align 4
  %v135 = load atomic i64, ptr %record monotonic, align 8, !alias.scope !11, !noalias !12
  %v136 = icmp eq i64 %v135, 0
  br i1 %v136, label %on134, label %ask133, !prof !2
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
  br label %latch79
latch79:
  %n83 = add nsw i64 %i82, 16
  %v142 = icmp ugt i64 %v85, 16
  br i1 %v142, label %body78, label %done80
done80:
  %v143 = load <8 x float>, ptr %s44, align 4
  %v144 = load <8 x float>, ptr %s74, align 4
  %v145 = load <8 x float>, ptr %s75, align 4
  %v146 = fadd reassoc arcp contract afn <8 x float> %v143, %v144
  %v147 = fadd reassoc arcp contract afn <8 x float> %v145, %v146
  store <8 x float> %v147, ptr %s44, align 4
  br label %done73
done73:
  %v154 = icmp slt i64 0, %v68
  br i1 %v154, label %enter148, label %done151
enter148:
  br label %body149
body149:
  %i152 = phi i64 [ 0, %enter148 ], [ %n153, %latch150 ]
  %v155 = sub i64 %v68, %i152
  %v156 = call i64 @llvm.umin.i64(i64 %v155, i64 8)
  %v157 = trunc i64 %v156 to i32
  %v158 = insertelement <8 x i32> poison, i32 %v157, i64 0
  %v159 = shufflevector <8 x i32> %v158, <8 x i32> poison, <8 x i32> zeroinitializer
  %v160 = icmp ult <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %v159
  %v161 = add i64 %v69, %i152
  %v162 = mul i64 %v161, 4
  %v163 = getelementptr i8, ptr %v2, i64 %v162
  %v164 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %v163, <8 x i1> %v160, <8 x float> zeroinitializer), !alias.scope !13, !noalias !14
  %v165 = insertelement <8 x float> poison, float %v42, i64 0
  %v166 = shufflevector <8 x float> %v165, <8 x float> poison, <8 x i32> zeroinitializer
  %v167 = fsub reassoc arcp contract afn <8 x float> %v164, %v166
  %v168 = fmul reassoc arcp contract afn <8 x float> %v167, %v167
  %v169 = mul i64 %v161, 4
  %v170 = getelementptr i8, ptr %v4, i64 %v169
  %v171 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %v170, <8 x i1> %v160, <8 x float> zeroinitializer), !alias.scope !15, !noalias !16
  %v172 = insertelement <8 x float> poison, float %v43, i64 0
  %v173 = shufflevector <8 x float> %v172, <8 x float> poison, <8 x i32> zeroinitializer
  %v174 = fsub reassoc arcp contract afn <8 x float> %v171, %v173
  %v175 = fmul reassoc arcp contract afn <8 x float> %v174, %v174
  %v176 = fadd reassoc arcp contract afn <8 x float> %v168, %v175
  %v177 = fcmp olt <8 x float> %v176, splat (float 0x3FF0000000000000)
  store <8 x float> splat (float 0x0000000000000000), ptr %s178, align 4
  store <8 x float> splat (float 0x8000000000000000), ptr %s178, align 4
  %v179 = and <8 x i1> %v160, %v177
  %v180 = load <8 x float>, ptr %s178, align 4
  %v181 = select <8 x i1> %v179, <8 x float> %v176, <8 x float> %v180
  store <8 x float> %v181, ptr %s178, align 4
  %v182 = load <8 x float>, ptr %s178, align 4
  %v183 = load <8 x float>, ptr %s44, align 4
  %v184 = fadd reassoc arcp contract afn <8 x float> %v183, %v182
  %v185 = select <8 x i1> %v160, <8 x float> %v184, <8 x float> %v183
  store <8 x float> %v185, ptr %s44, align 4
  br label %latch150
latch150:
  %n153 = add nsw i64 %i152, 8
  %v186 = icmp ugt i64 %v155, 8
  br i1 %v186, label %body149, label %done151
done151:
  br label %latch47
latch47:
  %n50 = add nsw i64 %i49, 1
  br label %head45
done48:
  %v187 = load <8 x float>, ptr %s44, align 4
  %v188 = call reassoc arcp contract afn float @llvm.vector.reduce.fadd.v8f32(float 0x8000000000000000, <8 x float> %v187)
  %v189 = load float, ptr %s37, align 4
  %v190 = fadd reassoc arcp contract afn float %v189, %v188
  store float %v190, ptr %s37, align 4
  %v191 = load float, ptr %s37, align 4
  %v192 = mul nsw i64 %i34, 4
  %v193 = getelementptr inbounds i8, ptr %v8, i64 %v192
  store float %v191, ptr %v193, align 4, !alias.scope !19, !noalias !20, !llvm.access.group !0
  br label %latch32
latch32:
  %n35 = add nsw i64 %i34, 1
  br label %head30, !llvm.loop !4
done33:
  %v194 = icmp slt i64 %q17, %v11
  br i1 %v194, label %stretch12, label %done15, !prof !1
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
