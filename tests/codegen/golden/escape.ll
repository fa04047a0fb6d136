; a golden module


declare i64 @llvm.smax.i64(i64, i64)
declare i64 @llvm.umin.i64(i64, i64)
declare void @llvm.masked.store.v8i32.p0(<8 x i32>, ptr, <8 x i1>)

define internal void @weft_task0(ptr noalias %ctx, ptr noalias %box, i64 %begin, i64 %end) noinline nounwind "reciprocal-estimates"="none" {
entry:
  %s13 = alloca i32, align 4
  %s44 = alloca <8 x float>, align 64
  %s45 = alloca <8 x float>, align 64
  %s46 = alloca i32, align 8
  %s47 = alloca <8 x i32>, align 64
  %s48 = alloca <8 x i32>, align 64
  %s49 = alloca <8 x i1>, align 64
  %s50 = alloca <8 x i1>, align 64
  %s53 = alloca i32, align 4
  %record.at = getelementptr inbounds i8, ptr %ctx, i64 8
  %record = load ptr, ptr %record.at, align 8, !invariant.load !{}
  br label %start
start:
  %v1 = getelementptr inbounds i8, ptr %ctx, i64 24
  %v2 = load ptr, ptr %v1, align 8, !invariant.load !{}
  br label %head4
head4:
  %i9 = phi i64 [ %begin, %start ], [ %n10, %latch6 ]
  %v11 = icmp slt i64 %i9, %end
  br i1 %v11, label %body5, label %done7
body5:
  %v12 = add nsw i64 0, %i9
  store i32 16, ptr %s13, align 4
  %v21 = icmp slt i64 0, 64
  br i1 %v21, label %enter14, label %done17
enter14:
  br label %body15
body15:
  %i19 = phi i64 [ 0, %enter14 ], [ %n20, %latch16 ]
  %v22 = sub i64 64, %i19
  %v23 = call i64 @llvm.umin.i64(i64 %v22, i64 16)
  %v24 = trunc i64 %v23 to i32
  %v25 = insertelement <8 x i32> poison, i32 %v24, i64 0
  %v26 = shufflevector <8 x i32> %v25, <8 x i32> poison, <8 x i32> zeroinitializer
  %v27 = icmp ult <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %v26
  %v28 = call i64 @llvm.umin.i64(i64 %v22, i64 16)
  %v29 = trunc i64 %v28 to i32
  %v30 = insertelement <8 x i32> poison, i32 %v29, i64 0
  %v31 = shufflevector <8 x i32> %v30, <8 x i32> poison, <8 x i32> zeroinitializer
  %v32 = icmp ult <8 x i32> <i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %v31
  %v33 = trunc i64 %i19 to i32
  %v34 = insertelement <8 x i32> poison, i32 %v33, i64 0
  %v35 = shufflevector <8 x i32> %v34, <8 x i32> poison, <8 x i32> zeroinitializer
  %v36 = add <8 x i32> %v35, <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %v37 = sitofp <8 x i32> %v36 to <8 x float>
  %v38 = insertelement <8 x i32> poison, i32 %v33, i64 0
  %v39 = shufflevector <8 x i32> %v38, <8 x i32> poison, <8 x i32> zeroinitializer
  %v40 = add <8 x i32> %v39, <i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %v41 = sitofp <8 x i32> %v40 to <8 x float>
  %v42 = fmul reassoc arcp contract afn <8 x float> %v37, splat (float 0x3FA0000000000000)
  %v43 = fmul reassoc arcp contract afn <8 x float> %v41, splat (float 0x3FA0000000000000)
  store <8 x float> splat (float 0x0000000000000000), ptr %s44, align 4
  store <8 x float> splat (float 0x0000000000000000), ptr %s45, align 4
  store <8 x float> %v42, ptr %s44, align 4
  store <8 x float> %v43, ptr %s45, align 4
  store i32 0, ptr %s46, align 4
  store <8 x i32> splat (i32 0), ptr %s47, align 4
  store <8 x i32> splat (i32 0), ptr %s48, align 4
  store i32 0, ptr %s46, align 4
  store <8 x i32> splat (i32 0), ptr %s47, align 4
  store <8 x i32> splat (i32 0), ptr %s48, align 4
  store <8 x i1> %v27, ptr %s49, align 1
  store <8 x i1> %v32, ptr %s50, align 1
  store i32 1024, ptr %s53, align 4
  br label %while51
while51:
  %v55 = load <8 x i1>, ptr %s49, align 1
  %v56 = load <8 x i1>, ptr %s50, align 1
  %v57 = load <8 x float>, ptr %s44, align 4
  %v58 = load <8 x float>, ptr %s45, align 4
  %v59 = fmul reassoc arcp contract afn <8 x float> %v57, %v57
  %v60 = fmul reassoc arcp contract afn <8 x float> %v58, %v58
  %v61 = load i32, ptr %s46, align 4
  %v62 = fcmp olt <8 x float> %v59, splat (float 0x4010000000000000)
  %v63 = fcmp olt <8 x float> %v60, splat (float 0x4010000000000000)
  %v64 = icmp slt i32 %v61, 100
  %v65 = insertelement <8 x i1> poison, i1 %v64, i64 0
  %v66 = shufflevector <8 x i1> %v65, <8 x i1> poison, <8 x i32> zeroinitializer
  %v67 = and <8 x i1> %v62, %v66
  %v68 = and <8 x i1> %v63, %v66
  %v69 = and <8 x i1> %v55, %v67
  %v70 = and <8 x i1> %v56, %v68
  %v71 = xor <8 x i1> %v67, splat (i1 true)
  %v72 = xor <8 x i1> %v68, splat (i1 true)
  %v73 = and <8 x i1> %v55, %v71
  %v74 = and <8 x i1> %v56, %v72
  %v75 = load <8 x i1>, ptr %s49, align 1
  %v76 = load <8 x i1>, ptr %s50, align 1
  %v77 = xor <8 x i1> %v73, splat (i1 true)
  %v78 = xor <8 x i1> %v74, splat (i1 true)
  %v79 = and <8 x i1> %v75, %v77
  %v80 = and <8 x i1> %v76, %v78
  store <8 x i1> %v79, ptr %s49, align 1
  store <8 x i1> %v80, ptr %s50, align 1
  %v81 = load <8 x i1>, ptr %s49, align 1
  %v82 = load <8 x i1>, ptr %s50, align 1
  %v83 = and <8 x i1> %v55, %v81
  %v84 = and <8 x i1> %v56, %v82
  %v85 = or <8 x i1> %v83, %v84
  %v86 = bitcast <8 x i1> %v85 to i8
  %v87 = icmp ne i8 %v86, 0
  br i1 %v87, label %then88, label %done90
then88:
  %v91 = fadd reassoc arcp contract afn <8 x float> %v59, %v42
  %v92 = fadd reassoc arcp contract afn <8 x float> %v60, %v43
  store <8 x float> %v91, ptr %s44, align 4
  store <8 x float> %v92, ptr %s45, align 4
  %v93 = add i32 %v61, 1
  store i32 %v93, ptr %s46, align 4
  %v94 = insertelement <8 x i32> poison, i32 %v93, i64 0
  %v95 = shufflevector <8 x i32> %v94, <8 x i32> poison, <8 x i32> zeroinitializer
  %v96 = load <8 x i32>, ptr %s47, align 4
  %v97 = select <8 x i1> %v83, <8 x i32> %v95, <8 x i32> %v96
  store <8 x i32> %v97, ptr %s47, align 4
  %v98 = load <8 x i32>, ptr %s48, align 4
  %v99 = select <8 x i1> %v84, <8 x i32> %v95, <8 x i32> %v98
  store <8 x i32> %v99, ptr %s48, align 4
  br label %done90
done90:
  %v100 = load <8 x i1>, ptr %s49, align 1
  %v101 = load <8 x i1>, ptr %s50, align 1
  %v102 = or <8 x i1> %v100, %v101
  %v103 = bitcast <8 x i1> %v102 to i8
  %v104 = icmp ne i8 %v103, 0
  br i1 %v104, label %then105, label %else106
then105:
  br label %done107
else106:
  br label %done52
done107:
  br label %check54
check54:
  %v110 = load i32, ptr %s53, align 4
  %v111 = sub i32 %v110, 1
  store i32 %v111, ptr %s53, align 4
  %v112 = icmp slt i32 %v111, 0
  br i1 %v112, label %now108, label %on109, !prof !2
now108:
  store i32 1024, ptr %s53, align 4
  %v115 = load atomic i64, ptr %record monotonic, align 8, !alias.scope !7, !noalias !8
  %v116 = icmp eq i64 %v115, 0
  br i1 %v116, label %on114, label %ask113, !prof !3
ask113:
  %v117 = getelementptr inbounds i8, ptr %ctx, i64 0
  %v118 = load ptr, ptr %v117, align 8, !invariant.load !{}
  %v119 = getelementptr inbounds i8, ptr %v118, i64 56
  %v120 = load ptr, ptr %v119, align 8, !invariant.load !{}
  %v121 = call preserve_allcc zeroext i1 %v120(ptr %record) nounwind willreturn cold memory(inaccessiblemem: readwrite)
  br i1 %v121, label %exit, label %on114
on114:
  br label %on109
on109:
  br label %while51
done52:
  %v122 = load <8 x i32>, ptr %s47, align 4
  %v123 = load <8 x i32>, ptr %s48, align 4
  %v124 = mul i64 %v12, 256
  %v125 = mul i64 %i19, 4
  %v126 = getelementptr i8, ptr %v2, i64 %v124
  %v127 = getelementptr i8, ptr %v126, i64 %v125
  call void @llvm.masked.store.v8i32.p0(<8 x i32> %v122, ptr align 4 %v127, <8 x i1> %v27), !alias.scope !9, !noalias !10
  %v128 = getelementptr i8, ptr %v127, i64 32
  call void @llvm.masked.store.v8i32.p0(<8 x i32> %v123, ptr align 4 %v128, <8 x i1> %v32), !alias.scope !9, !noalias !10
  br label %check18
check18:
  %v131 = load i32, ptr %s13, align 4
  %v132 = sub i32 %v131, 1
  store i32 %v132, ptr %s13, align 4
  %v133 = icmp slt i32 %v132, 0
  br i1 %v133, label %now129, label %on130, !prof !2
now129:
  store i32 16, ptr %s13, align 4
  %v136 = load atomic i64, ptr %record monotonic, align 8, !alias.scope !7, !noalias !8
  %v137 = icmp eq i64 %v136, 0
  br i1 %v137, label %on135, label %ask134, !prof !3
ask134:
  %v138 = getelementptr inbounds i8, ptr %ctx, i64 0
  %v139 = load ptr, ptr %v138, align 8, !invariant.load !{}
  %v140 = getelementptr inbounds i8, ptr %v139, i64 56
  %v141 = load ptr, ptr %v140, align 8, !invariant.load !{}
  %v142 = call preserve_allcc zeroext i1 %v141(ptr %record) nounwind willreturn cold memory(inaccessiblemem: readwrite)
  br i1 %v142, label %exit, label %on135
on135:
  br label %on130
on130:
  br label %latch16
latch16:
  %n20 = add nsw i64 %i19, 16
  %v143 = icmp ugt i64 %v22, 16
  br i1 %v143, label %body15, label %done17
done17:
  br label %check8
check8:
  %v146 = load atomic i64, ptr %record monotonic, align 8, !alias.scope !7, !noalias !8
  %v147 = icmp eq i64 %v146, 0
  br i1 %v147, label %on145, label %ask144, !prof !3
ask144:
  %v148 = getelementptr inbounds i8, ptr %ctx, i64 0
  %v149 = load ptr, ptr %v148, align 8, !invariant.load !{}
  %v150 = getelementptr inbounds i8, ptr %v149, i64 56
  %v151 = load ptr, ptr %v150, align 8, !invariant.load !{}
  %v152 = call preserve_allcc zeroext i1 %v151(ptr %record) nounwind willreturn cold memory(inaccessiblemem: readwrite)
  br i1 %v152, label %exit, label %on145
on145:
  br label %latch6
latch6:
  %n10 = add nsw i64 %i9, 1
  br label %head4, !llvm.loop !1
done7:
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
