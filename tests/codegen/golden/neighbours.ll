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
  %s75 = alloca i32, align 4
  %s111 = alloca <8 x float>, align 64
  %s112 = alloca <8 x float>, align 64
  %s177 = alloca <8 x float>, align 64
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
  %v25 = getelementptr inbounds i8, ptr %v24, i64 56
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
  store <8 x float> splat (float 0x8000000000000000), ptr %s43, align 4
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
  %v64 = sub i64 %v63, %v56
  %v65 = and i64 %v64, 15
  %v66 = icmp slt i64 %v56, %v63
  %v67 = select i1 %v66, i64 %v65, i64 0
  %v68 = sub i64 %v63, %v67
  %v69 = icmp slt i64 %v56, %v68
  br i1 %v69, label %then70, label %done72
then70:
  store <8 x float> splat (float 0x8000000000000000), ptr %s73, align 4
  store <8 x float> splat (float 0x8000000000000000), ptr %s74, align 4
  store i32 1024, ptr %s75, align 4
  %v83 = icmp slt i64 %v56, %v68
  br i1 %v83, label %enter76, label %done79
enter76:
  br label %body77
body77:
  %i81 = phi i64 [ %v56, %enter76 ], [ %n82, %latch78 ]
  %v84 = sub i64 %v68, %i81
  %v85 = mul i64 %i81, 4
  %v86 = getelementptr i8, ptr %v2, i64 %v85
  %v87 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %v86, <8 x i1> splat (i1 true), <8 x float> zeroinitializer), !alias.scope !13, !noalias !14
  %v88 = getelementptr i8, ptr %v86, i64 32
  %v89 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %v88, <8 x i1> splat (i1 true), <8 x float> zeroinitializer), !alias.scope !13, !noalias !14
  %v90 = insertelement <8 x float> poison, float %v41, i64 0
  %v91 = shufflevector <8 x float> %v90, <8 x float> poison, <8 x i32> zeroinitializer
  %v92 = fsub reassoc arcp contract afn <8 x float> %v87, %v91
  %v93 = fsub reassoc arcp contract afn <8 x float> %v89, %v91
  %v94 = fmul reassoc arcp contract afn <8 x float> %v92, %v92
  %v95 = fmul reassoc arcp contract afn <8 x float> %v93, %v93
  %v96 = mul i64 %i81, 4
  %v97 = getelementptr i8, ptr %v4, i64 %v96
  %v98 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %v97, <8 x i1> splat (i1 true), <8 x float> zeroinitializer), !alias.scope !15, !noalias !16
  %v99 = getelementptr i8, ptr %v97, i64 32
  %v100 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %v99, <8 x i1> splat (i1 true), <8 x float> zeroinitializer), !alias.scope !15, !noalias !16
  %v101 = insertelement <8 x float> poison, float %v42, i64 0
  %v102 = shufflevector <8 x float> %v101, <8 x float> poison, <8 x i32> zeroinitializer
  %v103 = fsub reassoc arcp contract afn <8 x float> %v98, %v102
  %v104 = fsub reassoc arcp contract afn <8 x float> %v100, %v102
  %v105 = fmul reassoc arcp contract afn <8 x float> %v103, %v103
  %v106 = fmul reassoc arcp contract afn <8 x float> %v104, %v104
  %v107 = fadd reassoc arcp contract afn <8 x float> %v94, %v105
  %v108 = fadd reassoc arcp contract afn <8 x float> %v95, %v106
  %v109 = fcmp olt <8 x float> %v107, splat (float 0x3FF0000000000000)
  %v110 = fcmp olt <8 x float> %v108, splat (float 0x3FF0000000000000)
  store <8 x float> splat (float 0x0000000000000000), ptr %s111, align 4
  store <8 x float> splat (float 0x0000000000000000), ptr %s112, align 4
  store <8 x float> splat (float 0x8000000000000000), ptr %s111, align 4
  store <8 x float> splat (float 0x8000000000000000), ptr %s112, align 4
  %v113 = and <8 x i1> splat (i1 true), %v109
  %v114 = and <8 x i1> splat (i1 true), %v110
  %v115 = load <8 x float>, ptr %s111, align 4
  %v116 = select <8 x i1> %v113, <8 x float> %v107, <8 x float> %v115
  store <8 x float> %v116, ptr %s111, align 4
  %v117 = load <8 x float>, ptr %s112, align 4
  %v118 = select <8 x i1> %v114, <8 x float> %v108, <8 x float> %v117
  store <8 x float> %v118, ptr %s112, align 4
  %v119 = load <8 x float>, ptr %s111, align 4
  %v120 = load <8 x float>, ptr %s112, align 4
  %v121 = load <8 x float>, ptr %s73, align 4
  %v122 = fadd reassoc arcp contract afn <8 x float> %v121, %v119
  %v123 = select <8 x i1> splat (i1 true), <8 x float> %v122, <8 x float> %v121
  store <8 x float> %v123, ptr %s73, align 4
  %v124 = load <8 x float>, ptr %s74, align 4
  %v125 = fadd reassoc arcp contract afn <8 x float> %v124, %v120
  %v126 = select <8 x i1> splat (i1 true), <8 x float> %v125, <8 x float> %v124
  store <8 x float> %v126, ptr %s74, align 4
  br label %check80
check80:
  %v129 = load i32, ptr %s75, align 4
  %v130 = sub i32 %v129, 1
  store i32 %v130, ptr %s75, align 4
  %v131 = icmp slt i32 %v130, 0
  br i1 %v131, label %now127, label %on128, !prof !1
now127:
  store i32 1024, ptr %s75, align 4
  %v134 = load atomic i64, ptr %record monotonic, align 8, !alias.scope !11, !noalias !12
  %v135 = icmp eq i64 %v134, 0
  br i1 %v135, label %on133, label %ask132, !prof !2
ask132:
  %v136 = getelementptr inbounds i8, ptr %ctx, i64 0
  %v137 = load ptr, ptr %v136, align 8, !invariant.load !{}
  %v138 = getelementptr inbounds i8, ptr %v137, i64 56
  %v139 = load ptr, ptr %v138, align 8, !invariant.load !{}
  %v140 = call preserve_allcc zeroext i1 %v139(ptr %record) nounwind willreturn cold memory(inaccessiblemem: readwrite)
  br i1 %v140, label %exit, label %on133
on133:
  br label %on128
on128:
  br label %latch78
latch78:
  %n82 = add nsw i64 %i81, 16
  %v141 = icmp ugt i64 %v84, 16
  br i1 %v141, label %body77, label %done79
done79:
  %v142 = load <8 x float>, ptr %s43, align 4
  %v143 = load <8 x float>, ptr %s73, align 4
  %v144 = load <8 x float>, ptr %s74, align 4
  %v145 = fadd reassoc arcp contract afn <8 x float> %v142, %v143
  %v146 = fadd reassoc arcp contract afn <8 x float> %v144, %v145
  store <8 x float> %v146, ptr %s43, align 4
  br label %done72
done72:
  %v153 = icmp slt i64 0, %v67
  br i1 %v153, label %enter147, label %done150
enter147:
  br label %body148
body148:
  %i151 = phi i64 [ 0, %enter147 ], [ %n152, %latch149 ]
  %v154 = sub i64 %v67, %i151
  %v155 = call i64 @llvm.umin.i64(i64 %v154, i64 8)
  %v156 = trunc i64 %v155 to i32
  %v157 = insertelement <8 x i32> poison, i32 %v156, i64 0
  %v158 = shufflevector <8 x i32> %v157, <8 x i32> poison, <8 x i32> zeroinitializer
  %v159 = icmp ult <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %v158
  %v160 = add i64 %v68, %i151
  %v161 = mul i64 %v160, 4
  %v162 = getelementptr i8, ptr %v2, i64 %v161
  %v163 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %v162, <8 x i1> %v159, <8 x float> zeroinitializer), !alias.scope !13, !noalias !14
  %v164 = insertelement <8 x float> poison, float %v41, i64 0
  %v165 = shufflevector <8 x float> %v164, <8 x float> poison, <8 x i32> zeroinitializer
  %v166 = fsub reassoc arcp contract afn <8 x float> %v163, %v165
  %v167 = fmul reassoc arcp contract afn <8 x float> %v166, %v166
  %v168 = mul i64 %v160, 4
  %v169 = getelementptr i8, ptr %v4, i64 %v168
  %v170 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %v169, <8 x i1> %v159, <8 x float> zeroinitializer), !alias.scope !15, !noalias !16
  %v171 = insertelement <8 x float> poison, float %v42, i64 0
  %v172 = shufflevector <8 x float> %v171, <8 x float> poison, <8 x i32> zeroinitializer
  %v173 = fsub reassoc arcp contract afn <8 x float> %v170, %v172
  %v174 = fmul reassoc arcp contract afn <8 x float> %v173, %v173
  %v175 = fadd reassoc arcp contract afn <8 x float> %v167, %v174
  %v176 = fcmp olt <8 x float> %v175, splat (float 0x3FF0000000000000)
  store <8 x float> splat (float 0x0000000000000000), ptr %s177, align 4
  store <8 x float> splat (float 0x8000000000000000), ptr %s177, align 4
  %v178 = and <8 x i1> %v159, %v176
  %v179 = load <8 x float>, ptr %s177, align 4
  %v180 = select <8 x i1> %v178, <8 x float> %v175, <8 x float> %v179
  store <8 x float> %v180, ptr %s177, align 4
  %v181 = load <8 x float>, ptr %s177, align 4
  %v182 = load <8 x float>, ptr %s43, align 4
  %v183 = fadd reassoc arcp contract afn <8 x float> %v182, %v181
  %v184 = select <8 x i1> %v159, <8 x float> %v183, <8 x float> %v182
  store <8 x float> %v184, ptr %s43, align 4
  br label %latch149
latch149:
  %n152 = add nsw i64 %i151, 8
  %v185 = icmp ugt i64 %v154, 8
  br i1 %v185, label %body148, label %done150
done150:
  br label %latch46
latch46:
  %n49 = add nsw i64 %i48, 1
  br label %head44
done47:
  %v186 = load <8 x float>, ptr %s43, align 4
  %v187 = call reassoc arcp contract afn float @llvm.vector.reduce.fadd.v8f32(float 0x8000000000000000, <8 x float> %v186)
  %v188 = load float, ptr %s36, align 4
  %v189 = fadd reassoc arcp contract afn float %v188, %v187
  store float %v189, ptr %s36, align 4
  %v190 = load float, ptr %s36, align 4
  %v191 = mul nsw i64 %i33, 4
  %v192 = getelementptr inbounds i8, ptr %v8, i64 %v191
  store float %v190, ptr %v192, align 4, !alias.scope !19, !noalias !20, !llvm.access.group !0
  br label %latch31
latch31:
  %n34 = add nsw i64 %i33, 1
  br label %head29, !llvm.loop !4
done32:
  %v193 = icmp slt i64 %q16, %v10
  br i1 %v193, label %stretch11, label %done14, !prof !1
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
  %v2 = mul nsw i64 1, 776
  %v3 = call i64 @llvm.smax.i64(i64 %v2, i64 1)
  %v4 = udiv i64 40000, %v3
  %v5 = add i64 %v4, 1
  %v6 = icmp sle i64 60, %v5
  br i1 %v6, label %here7, label %shared8
here7:
  call void @weft_task0(ptr %ctx, ptr %s1, i64 0, i64 60)
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
  call void %v17(i64 %v13, ptr @weft_task0, ptr %ctx, ptr %s1, i64 60, i64 %v5)
  br label %done9
done9:
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
