; a golden module


declare i64 @llvm.smax.i64(i64, i64)
declare <8 x float> @llvm.masked.load.v8f32.p0(ptr, <8 x i1>, <8 x float>)
declare i64 @llvm.umin.i64(i64, i64)
declare float @llvm.vector.reduce.fadd.v8f32(float, <8 x float>)

define internal void @weft_task0(ptr noalias %ctx, ptr noalias %box, i64 %begin, i64 %end) noinline nounwind "reciprocal-estimates"="none" {
entry:
  %s18 = alloca float, align 8
  %s25 = alloca <8 x float>, align 64
  %s55 = alloca <8 x float>, align 64
  %s56 = alloca <8 x float>, align 64
  %s87 = alloca <8 x float>, align 64
  %s88 = alloca <8 x float>, align 64
  %s142 = alloca <8 x float>, align 64
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
  br label %head11
head11:
  %i15 = phi i64 [ %v9, %start ], [ %n16, %latch13 ]
  %v17 = icmp slt i64 %i15, %v10
  br i1 %v17, label %body12, label %done14
body12:
  store float 0x0000000000000000, ptr %s18, align 4
  %v19 = mul nsw i64 %i15, 4
  %v20 = getelementptr inbounds i8, ptr %v2, i64 %v19
  %v21 = mul nsw i64 %i15, 4
  %v22 = getelementptr inbounds i8, ptr %v4, i64 %v21
  %v23 = load float, ptr %v20, align 4, !alias.scope !8, !noalias !9, !llvm.access.group !0
  %v24 = load float, ptr %v22, align 4, !alias.scope !10, !noalias !11, !llvm.access.group !0
  store <8 x float> splat (float 0x8000000000000000), ptr %s25, align 64
  br label %head26
head26:
  %i30 = phi i64 [ 0, %body12 ], [ %n31, %latch28 ]
  %v32 = icmp slt i64 %i30, 2
  br i1 %v32, label %body27, label %done29
body27:
  %v33 = mul nsw i64 %i15, 8
  %v34 = mul nsw i64 %i30, 4
  %v35 = getelementptr inbounds i8, ptr %v6, i64 %v33
  %v36 = getelementptr inbounds i8, ptr %v35, i64 %v34
  %v37 = load i32, ptr %v36, align 4, !alias.scope !12, !noalias !13, !llvm.access.group !0
  %v38 = sext i32 %v37 to i64
  %v39 = mul nsw i64 %i15, 8
  %v40 = mul nsw i64 %i30, 4
  %v41 = getelementptr inbounds i8, ptr %v6, i64 %v39
  %v42 = getelementptr inbounds i8, ptr %v41, i64 %v40
  %v43 = getelementptr inbounds i8, ptr %v42, i64 8
  %v44 = load i32, ptr %v43, align 4, !alias.scope !12, !noalias !13, !llvm.access.group !0
  %v45 = sext i32 %v44 to i64
  %v51 = add i64 %v38, 16
  %v52 = icmp sle i64 %v51, %v45
  br i1 %v52, label %many46, label %done50
many46:
  store <8 x float> splat (float 0x8000000000000000), ptr %s55, align 64
  store <8 x float> splat (float 0x8000000000000000), ptr %s56, align 64
  br label %body47
body47:
  %i53 = phi i64 [ %v38, %many46 ], [ %n54, %latch48 ]
  %v57 = mul i64 %i53, 4
  %v58 = getelementptr i8, ptr %v2, i64 %v57
  %v59 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %v58, <8 x i1> splat (i1 true), <8 x float> zeroinitializer), !alias.scope !8, !noalias !9
  %v60 = getelementptr i8, ptr %v58, i64 32
  %v61 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %v60, <8 x i1> splat (i1 true), <8 x float> zeroinitializer), !alias.scope !8, !noalias !9
  %v62 = insertelement <8 x float> poison, float %v23, i64 0
  %v63 = shufflevector <8 x float> %v62, <8 x float> poison, <8 x i32> zeroinitializer
  %v64 = fsub reassoc arcp contract afn <8 x float> %v59, %v63
  %v65 = insertelement <8 x float> poison, float %v23, i64 0
  %v66 = shufflevector <8 x float> %v65, <8 x float> poison, <8 x i32> zeroinitializer
  %v67 = fsub reassoc arcp contract afn <8 x float> %v61, %v66
  %v68 = fmul reassoc arcp contract afn <8 x float> %v64, %v64
  %v69 = fmul reassoc arcp contract afn <8 x float> %v67, %v67
  %v70 = mul i64 %i53, 4
  %v71 = getelementptr i8, ptr %v4, i64 %v70
  %v72 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %v71, <8 x i1> splat (i1 true), <8 x float> zeroinitializer), !alias.scope !10, !noalias !11
  %v73 = getelementptr i8, ptr %v71, i64 32
  %v74 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %v73, <8 x i1> splat (i1 true), <8 x float> zeroinitializer), !alias.scope !10, !noalias !11
  %v75 = insertelement <8 x float> poison, float %v24, i64 0
  %v76 = shufflevector <8 x float> %v75, <8 x float> poison, <8 x i32> zeroinitializer
  %v77 = fsub reassoc arcp contract afn <8 x float> %v72, %v76
  %v78 = insertelement <8 x float> poison, float %v24, i64 0
  %v79 = shufflevector <8 x float> %v78, <8 x float> poison, <8 x i32> zeroinitializer
  %v80 = fsub reassoc arcp contract afn <8 x float> %v74, %v79
  %v81 = fmul reassoc arcp contract afn <8 x float> %v77, %v77
  %v82 = fmul reassoc arcp contract afn <8 x float> %v80, %v80
  %v83 = fadd reassoc arcp contract afn <8 x float> %v68, %v81
  %v84 = fadd reassoc arcp contract afn <8 x float> %v69, %v82
  %v85 = fcmp olt <8 x float> %v83, splat (float 0x3FF0000000000000)
  %v86 = fcmp olt <8 x float> %v84, splat (float 0x3FF0000000000000)
  store <8 x float> zeroinitializer, ptr %s87, align 64
  store <8 x float> zeroinitializer, ptr %s88, align 64
  store <8 x float> splat (float 0x8000000000000000), ptr %s87, align 4
  store <8 x float> splat (float 0x8000000000000000), ptr %s88, align 4
  %v89 = and <8 x i1> splat (i1 true), %v85
  %v90 = and <8 x i1> splat (i1 true), %v86
  %v93 = load <8 x float>, ptr %s87, align 4
  %v94 = select <8 x i1> %v89, <8 x float> %v83, <8 x float> %v93
  store <8 x float> %v94, ptr %s87, align 4
  %v95 = load <8 x float>, ptr %s88, align 4
  %v96 = select <8 x i1> %v90, <8 x float> %v84, <8 x float> %v95
  store <8 x float> %v96, ptr %s88, align 4
  br label %after92
after92:
  %v97 = load <8 x float>, ptr %s87, align 4
  %v98 = load <8 x float>, ptr %s88, align 4
  %v99 = load <8 x float>, ptr %s55, align 64
  %v100 = fadd reassoc arcp contract afn <8 x float> %v99, %v97
  %v101 = select <8 x i1> splat (i1 true), <8 x float> %v100, <8 x float> %v99
  store <8 x float> %v101, ptr %s55, align 64
  %v102 = load <8 x float>, ptr %s56, align 64
  %v103 = fadd reassoc arcp contract afn <8 x float> %v102, %v98
  %v104 = select <8 x i1> splat (i1 true), <8 x float> %v103, <8 x float> %v102
  store <8 x float> %v104, ptr %s56, align 64
  br label %latch48
latch48:
  %n54 = add nsw i64 %i53, 16
  %v105 = add i64 %n54, 16
  %v106 = icmp sle i64 %v105, %v45
  br i1 %v106, label %body47, label %added49
added49:
  %v107 = load <8 x float>, ptr %s25, align 64
  %v108 = load <8 x float>, ptr %s55, align 64
  %v109 = load <8 x float>, ptr %s56, align 64
  %v110 = fadd reassoc arcp contract afn <8 x float> %v107, %v108
  %v111 = fadd reassoc arcp contract afn <8 x float> %v109, %v110
  store <8 x float> %v111, ptr %s25, align 64
  br label %done50
done50:
  %v112 = phi i64 [ %v38, %body27 ], [ %n54, %added49 ]
  br label %head113
head113:
  %i117 = phi i64 [ %v112, %done50 ], [ %n118, %latch115 ]
  %v119 = icmp slt i64 %i117, %v45
  br i1 %v119, label %body114, label %done116
body114:
  %v120 = sub i64 %v45, %i117
  %v121 = call i64 @llvm.umin.i64(i64 %v120, i64 8)
  %v122 = trunc i64 %v121 to i32
  %v123 = insertelement <8 x i32> poison, i32 %v122, i64 0
  %v124 = shufflevector <8 x i32> %v123, <8 x i32> poison, <8 x i32> zeroinitializer
  %v125 = icmp ult <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %v124
  %v126 = mul i64 %i117, 4
  %v127 = getelementptr i8, ptr %v2, i64 %v126
  %v128 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %v127, <8 x i1> %v125, <8 x float> zeroinitializer), !alias.scope !8, !noalias !9
  %v129 = insertelement <8 x float> poison, float %v23, i64 0
  %v130 = shufflevector <8 x float> %v129, <8 x float> poison, <8 x i32> zeroinitializer
  %v131 = fsub reassoc arcp contract afn <8 x float> %v128, %v130
  %v132 = fmul reassoc arcp contract afn <8 x float> %v131, %v131
  %v133 = mul i64 %i117, 4
  %v134 = getelementptr i8, ptr %v4, i64 %v133
  %v135 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %v134, <8 x i1> %v125, <8 x float> zeroinitializer), !alias.scope !10, !noalias !11
  %v136 = insertelement <8 x float> poison, float %v24, i64 0
  %v137 = shufflevector <8 x float> %v136, <8 x float> poison, <8 x i32> zeroinitializer
  %v138 = fsub reassoc arcp contract afn <8 x float> %v135, %v137
  %v139 = fmul reassoc arcp contract afn <8 x float> %v138, %v138
  %v140 = fadd reassoc arcp contract afn <8 x float> %v132, %v139
  %v141 = fcmp olt <8 x float> %v140, splat (float 0x3FF0000000000000)
  store <8 x float> zeroinitializer, ptr %s142, align 64
  store <8 x float> splat (float 0x8000000000000000), ptr %s142, align 4
  %v143 = and <8 x i1> %v125, %v141
  %v146 = load <8 x float>, ptr %s142, align 4
  %v147 = select <8 x i1> %v143, <8 x float> %v140, <8 x float> %v146
  store <8 x float> %v147, ptr %s142, align 4
  br label %after145
after145:
  %v148 = load <8 x float>, ptr %s142, align 4
  %v149 = load <8 x float>, ptr %s25, align 64
  %v150 = fadd reassoc arcp contract afn <8 x float> %v149, %v148
  %v151 = select <8 x i1> %v125, <8 x float> %v150, <8 x float> %v149
  store <8 x float> %v151, ptr %s25, align 64
  br label %latch115
latch115:
  %n118 = add nsw i64 %i117, 8
  br label %head113
done116:
  br label %latch28
latch28:
  %n31 = add nsw i64 %i30, 1
  br label %head26
done29:
  %v152 = load <8 x float>, ptr %s25, align 64
  %v153 = call reassoc arcp contract afn float @llvm.vector.reduce.fadd.v8f32(float 0x8000000000000000, <8 x float> %v152)
  %v154 = load float, ptr %s18, align 4
  %v155 = fadd reassoc arcp contract afn float %v154, %v153
  store float %v155, ptr %s18, align 4
  %v156 = load float, ptr %s18, align 4
  %v157 = mul nsw i64 %i15, 4
  %v158 = getelementptr inbounds i8, ptr %v8, i64 %v157
  store float %v156, ptr %v158, align 4, !alias.scope !14, !noalias !15, !llvm.access.group !0
  br label %latch13
latch13:
  %n16 = add nsw i64 %i15, 1
  br label %head11, !llvm.loop !2
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
!1 = !{!"llvm.loop.parallel_accesses", !0}
!2 = distinct !{!2, !1}
!3 = distinct !{!"fields"}
!4 = distinct !{!"field:x", !3}
!5 = distinct !{!"field:y", !3}
!6 = distinct !{!"field:start", !3}
!7 = distinct !{!"field:near", !3}
!8 = !{!4}
!9 = !{!5, !6, !7}
!10 = !{!5}
!11 = !{!4, !6, !7}
!12 = !{!6}
!13 = !{!4, !5, !7}
!14 = !{!7}
!15 = !{!4, !5, !6}
