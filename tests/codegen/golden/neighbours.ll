; a golden module


declare i64 @llvm.smax.i64(i64, i64)
declare <16 x float> @llvm.masked.load.v16f32.p0(ptr, <16 x i1>, <16 x float>)
declare i64 @llvm.umin.i64(i64, i64)
declare <8 x float> @llvm.masked.load.v8f32.p0(ptr, <8 x i1>, <8 x float>)
declare float @llvm.vector.reduce.fadd.v8f32(float, <8 x float>)

define internal void @weft_task0(ptr noalias %ctx, ptr noalias %box, i64 %begin, i64 %end) noinline nounwind "reciprocal-estimates"="none" {
entry:
  %s18 = alloca float, align 8
  %s25 = alloca <8 x float>, align 64
  %s51 = alloca <16 x float>, align 64
  %s72 = alloca <16 x float>, align 64
  %s120 = alloca <8 x float>, align 64
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
  %v52 = add i64 %v38, 16
  %v53 = icmp sle i64 %v52, %v45
  br i1 %v53, label %many46, label %done50
many46:
  store <16 x float> splat (float 0x8000000000000000), ptr %s51, align 64
  br label %body47
body47:
  %i54 = phi i64 [ %v38, %many46 ], [ %n55, %latch48 ]
  %v56 = mul i64 %i54, 4
  %v57 = getelementptr i8, ptr %v2, i64 %v56
  %v58 = call <16 x float> @llvm.masked.load.v16f32.p0(ptr align 4 %v57, <16 x i1> splat (i1 true), <16 x float> zeroinitializer), !alias.scope !8, !noalias !9
  %v59 = insertelement <16 x float> poison, float %v23, i64 0
  %v60 = shufflevector <16 x float> %v59, <16 x float> poison, <16 x i32> zeroinitializer
  %v61 = fsub reassoc arcp contract afn <16 x float> %v58, %v60
  %v62 = fmul reassoc arcp contract afn <16 x float> %v61, %v61
  %v63 = mul i64 %i54, 4
  %v64 = getelementptr i8, ptr %v4, i64 %v63
  %v65 = call <16 x float> @llvm.masked.load.v16f32.p0(ptr align 4 %v64, <16 x i1> splat (i1 true), <16 x float> zeroinitializer), !alias.scope !10, !noalias !11
  %v66 = insertelement <16 x float> poison, float %v24, i64 0
  %v67 = shufflevector <16 x float> %v66, <16 x float> poison, <16 x i32> zeroinitializer
  %v68 = fsub reassoc arcp contract afn <16 x float> %v65, %v67
  %v69 = fmul reassoc arcp contract afn <16 x float> %v68, %v68
  %v70 = fadd reassoc arcp contract afn <16 x float> %v62, %v69
  %v71 = fcmp olt <16 x float> %v70, splat (float 0x3FF0000000000000)
  store <16 x float> zeroinitializer, ptr %s72, align 64
  store <16 x float> splat (float 0x8000000000000000), ptr %s72, align 4
  %v73 = and <16 x i1> splat (i1 true), %v71
  %v76 = load <16 x float>, ptr %s72, align 4
  %v77 = select <16 x i1> %v73, <16 x float> %v70, <16 x float> %v76
  store <16 x float> %v77, ptr %s72, align 4
  br label %after75
after75:
  %v78 = load <16 x float>, ptr %s72, align 4
  %v79 = load <16 x float>, ptr %s51, align 64
  %v80 = fadd reassoc arcp contract afn <16 x float> %v79, %v78
  %v81 = select <16 x i1> splat (i1 true), <16 x float> %v80, <16 x float> %v79
  store <16 x float> %v81, ptr %s51, align 64
  br label %latch48
latch48:
  %n55 = add nsw i64 %i54, 16
  %v82 = add i64 %n55, 16
  %v83 = icmp sle i64 %v82, %v45
  br i1 %v83, label %body47, label %added49
added49:
  %v84 = load <16 x float>, ptr %s51, align 64
  %v85 = shufflevector <16 x float> %v84, <16 x float> poison, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %v86 = shufflevector <16 x float> %v84, <16 x float> poison, <8 x i32> <i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %v87 = fadd reassoc arcp contract afn <8 x float> %v85, %v86
  %v88 = load <8 x float>, ptr %s25, align 64
  %v89 = fadd reassoc arcp contract afn <8 x float> %v88, %v87
  store <8 x float> %v89, ptr %s25, align 64
  br label %done50
done50:
  %v90 = phi i64 [ %v38, %body27 ], [ %n55, %added49 ]
  br label %head91
head91:
  %i95 = phi i64 [ %v90, %done50 ], [ %n96, %latch93 ]
  %v97 = icmp slt i64 %i95, %v45
  br i1 %v97, label %body92, label %done94
body92:
  %v98 = sub i64 %v45, %i95
  %v99 = call i64 @llvm.umin.i64(i64 %v98, i64 8)
  %v100 = trunc i64 %v99 to i32
  %v101 = insertelement <8 x i32> poison, i32 %v100, i64 0
  %v102 = shufflevector <8 x i32> %v101, <8 x i32> poison, <8 x i32> zeroinitializer
  %v103 = icmp ult <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %v102
  %v104 = mul i64 %i95, 4
  %v105 = getelementptr i8, ptr %v2, i64 %v104
  %v106 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %v105, <8 x i1> %v103, <8 x float> zeroinitializer), !alias.scope !8, !noalias !9
  %v107 = insertelement <8 x float> poison, float %v23, i64 0
  %v108 = shufflevector <8 x float> %v107, <8 x float> poison, <8 x i32> zeroinitializer
  %v109 = fsub reassoc arcp contract afn <8 x float> %v106, %v108
  %v110 = fmul reassoc arcp contract afn <8 x float> %v109, %v109
  %v111 = mul i64 %i95, 4
  %v112 = getelementptr i8, ptr %v4, i64 %v111
  %v113 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %v112, <8 x i1> %v103, <8 x float> zeroinitializer), !alias.scope !10, !noalias !11
  %v114 = insertelement <8 x float> poison, float %v24, i64 0
  %v115 = shufflevector <8 x float> %v114, <8 x float> poison, <8 x i32> zeroinitializer
  %v116 = fsub reassoc arcp contract afn <8 x float> %v113, %v115
  %v117 = fmul reassoc arcp contract afn <8 x float> %v116, %v116
  %v118 = fadd reassoc arcp contract afn <8 x float> %v110, %v117
  %v119 = fcmp olt <8 x float> %v118, splat (float 0x3FF0000000000000)
  store <8 x float> zeroinitializer, ptr %s120, align 64
  store <8 x float> splat (float 0x8000000000000000), ptr %s120, align 4
  %v121 = and <8 x i1> %v103, %v119
  %v124 = load <8 x float>, ptr %s120, align 4
  %v125 = select <8 x i1> %v121, <8 x float> %v118, <8 x float> %v124
  store <8 x float> %v125, ptr %s120, align 4
  br label %after123
after123:
  %v126 = load <8 x float>, ptr %s120, align 4
  %v127 = load <8 x float>, ptr %s25, align 64
  %v128 = fadd reassoc arcp contract afn <8 x float> %v127, %v126
  %v129 = select <8 x i1> %v103, <8 x float> %v128, <8 x float> %v127
  store <8 x float> %v129, ptr %s25, align 64
  br label %latch93
latch93:
  %n96 = add nsw i64 %i95, 8
  br label %head91
done94:
  br label %latch28
latch28:
  %n31 = add nsw i64 %i30, 1
  br label %head26
done29:
  %v130 = load <8 x float>, ptr %s25, align 64
  %v131 = call reassoc arcp contract afn float @llvm.vector.reduce.fadd.v8f32(float 0x8000000000000000, <8 x float> %v130)
  %v132 = load float, ptr %s18, align 4
  %v133 = fadd reassoc arcp contract afn float %v132, %v131
  store float %v133, ptr %s18, align 4
  %v134 = load float, ptr %s18, align 4
  %v135 = mul nsw i64 %i15, 4
  %v136 = getelementptr inbounds i8, ptr %v8, i64 %v135
  store float %v134, ptr %v136, align 4, !alias.scope !14, !noalias !15, !llvm.access.group !0
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
