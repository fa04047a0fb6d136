; a golden module


declare i64 @llvm.smax.i64(i64, i64)
declare i64 @llvm.umin.i64(i64, i64)
declare void @llvm.masked.store.v8i32.p0(<8 x i32>, ptr, <8 x i1>)

define internal void @weft_task0(ptr noalias %ctx, ptr noalias %box, i64 %begin, i64 %end) noinline nounwind "reciprocal-estimates"="none" {
entry:
  %s12 = alloca i32, align 4
  %s39 = alloca <8 x float>, align 64
  %s40 = alloca <8 x float>, align 64
  %s41 = alloca i32, align 8
  %s42 = alloca <8 x i32>, align 64
  %s43 = alloca <8 x i32>, align 64
  %s47 = alloca <8 x i1>, align 8
  %s48 = alloca <8 x i1>, align 8
  %s49 = alloca <8 x i1>, align 8
  %s50 = alloca <8 x i1>, align 8
  %s51 = alloca i32, align 4
  %record.at = getelementptr inbounds i8, ptr %ctx, i64 8
  %record = load ptr, ptr %record.at, align 8, !invariant.load !{}
  br label %start
start:
  %v1 = getelementptr inbounds i8, ptr %ctx, i64 24
  %v2 = load ptr, ptr %v1, align 8, !invariant.load !{}
  br label %head3
head3:
  %i8 = phi i64 [ %begin, %start ], [ %n9, %latch5 ]
  %v10 = icmp slt i64 %i8, %end
  br i1 %v10, label %body4, label %done6
body4:
  %v11 = add nsw i64 0, %i8
  store i32 16, ptr %s12, align 4
  %v20 = icmp slt i64 0, 64
  br i1 %v20, label %enter13, label %done16
enter13:
  br label %body14
body14:
  %i18 = phi i64 [ 0, %enter13 ], [ %n19, %latch15 ]
  %v21 = sub i64 64, %i18
  %v22 = call i64 @llvm.umin.i64(i64 %v21, i64 16)
  %v23 = trunc i64 %v22 to i32
  %v24 = insertelement <8 x i32> poison, i32 %v23, i64 0
  %v25 = shufflevector <8 x i32> %v24, <8 x i32> poison, <8 x i32> zeroinitializer
  %v26 = icmp ult <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %v25
  %v27 = icmp ult <8 x i32> <i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %v25
  %v28 = trunc i64 %i18 to i32
  %v29 = insertelement <8 x i32> poison, i32 %v28, i64 0
  %v30 = shufflevector <8 x i32> %v29, <8 x i32> poison, <8 x i32> zeroinitializer
  %v31 = add <8 x i32> %v30, <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %v32 = sitofp <8 x i32> %v31 to <8 x float>
  %v33 = insertelement <8 x i32> poison, i32 %v28, i64 0
  %v34 = shufflevector <8 x i32> %v33, <8 x i32> poison, <8 x i32> zeroinitializer
  %v35 = add <8 x i32> %v34, <i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %v36 = sitofp <8 x i32> %v35 to <8 x float>
  %v37 = fmul reassoc arcp contract afn <8 x float> %v32, splat (float 0x3FA0000000000000)
  %v38 = fmul reassoc arcp contract afn <8 x float> %v36, splat (float 0x3FA0000000000000)
  store <8 x float> zeroinitializer, ptr %s39, align 64
  store <8 x float> zeroinitializer, ptr %s40, align 64
  store <8 x float> %v37, ptr %s39, align 4
  store <8 x float> %v38, ptr %s40, align 4
  store i32 0, ptr %s41, align 4
  store <8 x i32> zeroinitializer, ptr %s42, align 64
  store <8 x i32> zeroinitializer, ptr %s43, align 64
  store i32 0, ptr %s41, align 4
  store <8 x i32> splat (i32 0), ptr %s42, align 4
  store <8 x i32> splat (i32 0), ptr %s43, align 4
  store <8 x i1> %v26, ptr %s47, align 8
  store <8 x i1> %v27, ptr %s48, align 8
  store <8 x i1> %v26, ptr %s49, align 8
  store <8 x i1> %v27, ptr %s50, align 8
  store i32 1024, ptr %s51, align 4
  br label %while44
while44:
  %v52 = load <8 x i1>, ptr %s47, align 8
  %v53 = load <8 x i1>, ptr %s48, align 8
  store <8 x i1> %v52, ptr %s49, align 8
  store <8 x i1> %v53, ptr %s50, align 8
  %v54 = load <8 x float>, ptr %s39, align 4
  %v55 = load <8 x float>, ptr %s40, align 4
  %v56 = fmul reassoc arcp contract afn <8 x float> %v54, %v54
  %v57 = fmul reassoc arcp contract afn <8 x float> %v55, %v55
  %v58 = load i32, ptr %s41, align 4
  %v59 = fcmp olt <8 x float> %v56, splat (float 0x4010000000000000)
  %v60 = fcmp olt <8 x float> %v57, splat (float 0x4010000000000000)
  %v61 = icmp slt i32 %v58, 100
  %v62 = insertelement <8 x i1> poison, i1 %v61, i64 0
  %v63 = shufflevector <8 x i1> %v62, <8 x i1> poison, <8 x i32> zeroinitializer
  %v64 = and <8 x i1> %v59, %v63
  %v65 = insertelement <8 x i1> poison, i1 %v61, i64 0
  %v66 = shufflevector <8 x i1> %v65, <8 x i1> poison, <8 x i32> zeroinitializer
  %v67 = and <8 x i1> %v60, %v66
  %v68 = and <8 x i1> %v52, %v64
  %v69 = and <8 x i1> %v53, %v67
  %v70 = xor <8 x i1> %v64, splat (i1 true)
  %v71 = xor <8 x i1> %v67, splat (i1 true)
  %v72 = and <8 x i1> %v52, %v70
  %v73 = and <8 x i1> %v53, %v71
  %v76 = load <8 x i1>, ptr %s47, align 8
  %v77 = load <8 x i1>, ptr %s48, align 8
  %v78 = xor <8 x i1> %v72, splat (i1 true)
  %v79 = xor <8 x i1> %v73, splat (i1 true)
  %v80 = and <8 x i1> %v76, %v78
  %v81 = and <8 x i1> %v77, %v79
  store <8 x i1> %v80, ptr %s47, align 8
  store <8 x i1> %v81, ptr %s48, align 8
  %v82 = load <8 x i1>, ptr %s49, align 8
  %v83 = load <8 x i1>, ptr %s50, align 8
  %v84 = xor <8 x i1> %v72, splat (i1 true)
  %v85 = xor <8 x i1> %v73, splat (i1 true)
  %v86 = and <8 x i1> %v82, %v84
  %v87 = and <8 x i1> %v83, %v85
  store <8 x i1> %v86, ptr %s49, align 8
  store <8 x i1> %v87, ptr %s50, align 8
  br label %after75
after75:
  %v88 = load <8 x i1>, ptr %s49, align 8
  %v89 = load <8 x i1>, ptr %s50, align 8
  %v90 = and <8 x i1> %v52, %v88
  %v91 = and <8 x i1> %v53, %v89
  %v93 = or <8 x i1> %v90, %v91
  %v94 = bitcast <8 x i1> %v93 to i8
  %v95 = icmp ne i8 %v94, 0
  br i1 %v95, label %still92, label %latch45
still92:
  %v96 = fadd reassoc arcp contract afn <8 x float> %v56, %v37
  %v97 = fadd reassoc arcp contract afn <8 x float> %v57, %v38
  store <8 x float> %v96, ptr %s39, align 4
  store <8 x float> %v97, ptr %s40, align 4
  %v98 = add i32 %v58, 1
  store i32 %v98, ptr %s41, align 4
  %v99 = insertelement <8 x i32> poison, i32 %v98, i64 0
  %v100 = shufflevector <8 x i32> %v99, <8 x i32> poison, <8 x i32> zeroinitializer
  %v101 = load <8 x i32>, ptr %s42, align 4
  %v102 = select <8 x i1> %v90, <8 x i32> %v100, <8 x i32> %v101
  store <8 x i32> %v102, ptr %s42, align 4
  %v103 = insertelement <8 x i32> poison, i32 %v98, i64 0
  %v104 = shufflevector <8 x i32> %v103, <8 x i32> poison, <8 x i32> zeroinitializer
  %v105 = load <8 x i32>, ptr %s43, align 4
  %v106 = select <8 x i1> %v91, <8 x i32> %v104, <8 x i32> %v105
  store <8 x i32> %v106, ptr %s43, align 4
  br label %latch45
latch45:
  %v108 = load <8 x i1>, ptr %s47, align 8
  %v109 = load <8 x i1>, ptr %s48, align 8
  %v110 = or <8 x i1> %v108, %v109
  %v111 = bitcast <8 x i1> %v110 to i8
  %v112 = icmp ne i8 %v111, 0
  br i1 %v112, label %again107, label %done46
again107:
  %v115 = load i32, ptr %s51, align 4
  %v116 = sub i32 %v115, 1
  store i32 %v116, ptr %s51, align 4
  %v117 = icmp slt i32 %v116, 0
  br i1 %v117, label %now113, label %on114, !prof !2
now113:
  store i32 1024, ptr %s51, align 4
  %v120 = load atomic i64, ptr %record monotonic, align 8, !alias.scope !7, !noalias !8
  %v121 = icmp eq i64 %v120, 0
  br i1 %v121, label %on119, label %ask118, !prof !3
ask118:
  %v122 = getelementptr inbounds i8, ptr %ctx, i64 0
  %v123 = load ptr, ptr %v122, align 8, !invariant.load !{}
  %v124 = getelementptr inbounds i8, ptr %v123, i64 48
  %v125 = load ptr, ptr %v124, align 8, !invariant.load !{}
  %v126 = call preserve_allcc zeroext i1 %v125(ptr %record) nounwind willreturn cold memory(inaccessiblemem: readwrite)
  br i1 %v126, label %exit, label %on119
on119:
  br label %on114
on114:
  br label %while44
done46:
  %v127 = load <8 x i32>, ptr %s42, align 4
  %v128 = load <8 x i32>, ptr %s43, align 4
  %v129 = mul i64 %v11, 256
  %v130 = getelementptr i8, ptr %v2, i64 %v129
  %v131 = mul i64 %i18, 4
  %v132 = getelementptr i8, ptr %v130, i64 %v131
  call void @llvm.masked.store.v8i32.p0(<8 x i32> %v127, ptr align 4 %v132, <8 x i1> %v26), !alias.scope !9, !noalias !10
  %v133 = getelementptr i8, ptr %v132, i64 32
  call void @llvm.masked.store.v8i32.p0(<8 x i32> %v128, ptr align 4 %v133, <8 x i1> %v27), !alias.scope !9, !noalias !10
  br label %turn17
turn17:
  %v136 = load i32, ptr %s12, align 4
  %v137 = sub i32 %v136, 1
  store i32 %v137, ptr %s12, align 4
  %v138 = icmp slt i32 %v137, 0
  br i1 %v138, label %now134, label %on135, !prof !2
now134:
  store i32 16, ptr %s12, align 4
  %v141 = load atomic i64, ptr %record monotonic, align 8, !alias.scope !7, !noalias !8
  %v142 = icmp eq i64 %v141, 0
  br i1 %v142, label %on140, label %ask139, !prof !3
ask139:
  %v143 = getelementptr inbounds i8, ptr %ctx, i64 0
  %v144 = load ptr, ptr %v143, align 8, !invariant.load !{}
  %v145 = getelementptr inbounds i8, ptr %v144, i64 48
  %v146 = load ptr, ptr %v145, align 8, !invariant.load !{}
  %v147 = call preserve_allcc zeroext i1 %v146(ptr %record) nounwind willreturn cold memory(inaccessiblemem: readwrite)
  br i1 %v147, label %exit, label %on140
on140:
  br label %on135
on135:
  br label %latch15
latch15:
  %n19 = add nsw i64 %i18, 16
  %v148 = icmp ugt i64 %v21, 16
  br i1 %v148, label %body14, label %done16
done16:
  br label %turn7
turn7:
  %v151 = load atomic i64, ptr %record monotonic, align 8, !alias.scope !7, !noalias !8
  %v152 = icmp eq i64 %v151, 0
  br i1 %v152, label %on150, label %ask149, !prof !3
ask149:
  %v153 = getelementptr inbounds i8, ptr %ctx, i64 0
  %v154 = load ptr, ptr %v153, align 8, !invariant.load !{}
  %v155 = getelementptr inbounds i8, ptr %v154, i64 48
  %v156 = load ptr, ptr %v155, align 8, !invariant.load !{}
  %v157 = call preserve_allcc zeroext i1 %v156(ptr %record) nounwind willreturn cold memory(inaccessiblemem: readwrite)
  br i1 %v157, label %exit, label %on150
on150:
  br label %latch5
latch5:
  %n9 = add nsw i64 %i8, 1
  br label %head3, !llvm.loop !1
done6:
  br label %exit
exit:
  ret void
}

define void @weft_entry(ptr noalias %ctx) nounwind "reciprocal-estimates"="none" {
entry:
  %s1 = alloca [4 x i64], align 8
  br label %start
start:
  %v2 = getelementptr inbounds i8, ptr %s1, i64 0
  store i64 0, ptr %v2, align 8
  %v3 = getelementptr inbounds i8, ptr %s1, i64 8
  store i64 0, ptr %v3, align 8
  %v4 = getelementptr inbounds i8, ptr %s1, i64 16
  store i64 64, ptr %v4, align 8
  %v5 = getelementptr inbounds i8, ptr %s1, i64 24
  store i64 64, ptr %v5, align 8
  %v6 = sub nsw i64 64, 0
  %v7 = call i64 @llvm.smax.i64(i64 %v6, i64 0)
  %v8 = sub nsw i64 64, 0
  %v9 = call i64 @llvm.smax.i64(i64 %v8, i64 0)
  %v10 = mul nsw i64 %v9, 63
  %v11 = call i64 @llvm.smax.i64(i64 %v10, i64 1)
  %v12 = udiv i64 40000, %v11
  %v13 = add i64 %v12, 1
  %v14 = icmp sle i64 %v7, %v13
  br i1 %v14, label %here15, label %shared16
here15:
  call void @weft_task0(ptr %ctx, ptr %s1, i64 0, i64 %v7)
  br label %done17
shared16:
  %v18 = getelementptr inbounds i8, ptr %ctx, i64 0
  %v19 = load ptr, ptr %v18, align 8, !invariant.load !{}
  %v20 = getelementptr inbounds i8, ptr %v19, i64 16
  %v21 = load i64, ptr %v20, align 8, !invariant.load !{}
  %v22 = getelementptr inbounds i8, ptr %ctx, i64 0
  %v23 = load ptr, ptr %v22, align 8, !invariant.load !{}
  %v24 = getelementptr inbounds i8, ptr %v23, i64 0
  %v25 = load ptr, ptr %v24, align 8, !invariant.load !{}
  call void %v25(i64 %v21, ptr @weft_task0, ptr %ctx, ptr %s1, i64 %v7, i64 %v13)
  br label %done17
done17:
  br label %exit
exit:
  ret void
}

!0 = !{!"llvm.loop.unroll.disable"}
!1 = distinct !{!1, !0}
!2 = !{!"branch_weights", i32 1, i32 1000000}
!3 = !{!"branch_weights", i32 1000000, i32 1}
!4 = distinct !{!"fields"}
!5 = distinct !{!"record", !4}
!6 = distinct !{!"field:out", !4}
!7 = !{!5}
!8 = !{!6}
!9 = !{!6}
!10 = !{!5}
