; a golden module


declare i64 @llvm.smax.i64(i64, i64)
declare i64 @llvm.umin.i64(i64, i64)
declare void @llvm.masked.store.v8i32.p0(<8 x i32>, ptr, <8 x i1>)

define internal void @weft_task0(ptr noalias %ctx, ptr noalias %box, i64 %begin, i64 %end) noinline nounwind "reciprocal-estimates"="none" {
entry:
  %s36 = alloca <8 x float>, align 64
  %s37 = alloca <8 x float>, align 64
  %s38 = alloca i32, align 8
  %s39 = alloca <8 x i32>, align 64
  %s40 = alloca <8 x i32>, align 64
  %s44 = alloca <8 x i1>, align 8
  %s45 = alloca <8 x i1>, align 8
  %s46 = alloca <8 x i1>, align 8
  %s47 = alloca <8 x i1>, align 8
  br label %start
start:
  %v1 = getelementptr inbounds i8, ptr %ctx, i64 24
  %v2 = load ptr, ptr %v1, align 8, !invariant.load !{}
  br label %head3
head3:
  %i7 = phi i64 [ %begin, %start ], [ %n8, %latch5 ]
  %v9 = icmp slt i64 %i7, %end
  br i1 %v9, label %body4, label %done6
body4:
  %v10 = add nsw i64 0, %i7
  br label %head11
head11:
  %i15 = phi i64 [ 0, %body4 ], [ %n16, %latch13 ]
  %v17 = icmp slt i64 %i15, 64
  br i1 %v17, label %body12, label %done14
body12:
  %v18 = sub i64 64, %i15
  %v19 = call i64 @llvm.umin.i64(i64 %v18, i64 16)
  %v20 = trunc i64 %v19 to i32
  %v21 = insertelement <8 x i32> poison, i32 %v20, i64 0
  %v22 = shufflevector <8 x i32> %v21, <8 x i32> poison, <8 x i32> zeroinitializer
  %v23 = icmp ult <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %v22
  %v24 = icmp ult <8 x i32> <i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %v22
  %v25 = trunc i64 %i15 to i32
  %v26 = insertelement <8 x i32> poison, i32 %v25, i64 0
  %v27 = shufflevector <8 x i32> %v26, <8 x i32> poison, <8 x i32> zeroinitializer
  %v28 = add <8 x i32> %v27, <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %v29 = sitofp <8 x i32> %v28 to <8 x float>
  %v30 = insertelement <8 x i32> poison, i32 %v25, i64 0
  %v31 = shufflevector <8 x i32> %v30, <8 x i32> poison, <8 x i32> zeroinitializer
  %v32 = add <8 x i32> %v31, <i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %v33 = sitofp <8 x i32> %v32 to <8 x float>
  %v34 = fmul reassoc arcp contract afn <8 x float> %v29, splat (float 0x3FA0000000000000)
  %v35 = fmul reassoc arcp contract afn <8 x float> %v33, splat (float 0x3FA0000000000000)
  store <8 x float> zeroinitializer, ptr %s36, align 64
  store <8 x float> zeroinitializer, ptr %s37, align 64
  store <8 x float> %v34, ptr %s36, align 4
  store <8 x float> %v35, ptr %s37, align 4
  store i32 0, ptr %s38, align 4
  store <8 x i32> zeroinitializer, ptr %s39, align 64
  store <8 x i32> zeroinitializer, ptr %s40, align 64
  store i32 0, ptr %s38, align 4
  store <8 x i32> splat (i32 0), ptr %s39, align 4
  store <8 x i32> splat (i32 0), ptr %s40, align 4
  store <8 x i1> %v23, ptr %s44, align 8
  store <8 x i1> %v24, ptr %s45, align 8
  store <8 x i1> %v23, ptr %s46, align 8
  store <8 x i1> %v24, ptr %s47, align 8
  br label %while41
while41:
  %v48 = load <8 x i1>, ptr %s44, align 8
  %v49 = load <8 x i1>, ptr %s45, align 8
  store <8 x i1> %v48, ptr %s46, align 8
  store <8 x i1> %v49, ptr %s47, align 8
  %v50 = load <8 x float>, ptr %s36, align 4
  %v51 = load <8 x float>, ptr %s37, align 4
  %v52 = fmul reassoc arcp contract afn <8 x float> %v50, %v50
  %v53 = fmul reassoc arcp contract afn <8 x float> %v51, %v51
  %v54 = load i32, ptr %s38, align 4
  %v55 = fcmp olt <8 x float> %v52, splat (float 0x4010000000000000)
  %v56 = fcmp olt <8 x float> %v53, splat (float 0x4010000000000000)
  %v57 = icmp slt i32 %v54, 100
  %v58 = insertelement <8 x i1> poison, i1 %v57, i64 0
  %v59 = shufflevector <8 x i1> %v58, <8 x i1> poison, <8 x i32> zeroinitializer
  %v60 = and <8 x i1> %v55, %v59
  %v61 = insertelement <8 x i1> poison, i1 %v57, i64 0
  %v62 = shufflevector <8 x i1> %v61, <8 x i1> poison, <8 x i32> zeroinitializer
  %v63 = and <8 x i1> %v56, %v62
  %v64 = and <8 x i1> %v48, %v60
  %v65 = and <8 x i1> %v49, %v63
  %v66 = xor <8 x i1> %v60, splat (i1 true)
  %v67 = xor <8 x i1> %v63, splat (i1 true)
  %v68 = and <8 x i1> %v48, %v66
  %v69 = and <8 x i1> %v49, %v67
  %v72 = load <8 x i1>, ptr %s44, align 8
  %v73 = load <8 x i1>, ptr %s45, align 8
  %v74 = xor <8 x i1> %v68, splat (i1 true)
  %v75 = xor <8 x i1> %v69, splat (i1 true)
  %v76 = and <8 x i1> %v72, %v74
  %v77 = and <8 x i1> %v73, %v75
  store <8 x i1> %v76, ptr %s44, align 8
  store <8 x i1> %v77, ptr %s45, align 8
  %v78 = load <8 x i1>, ptr %s46, align 8
  %v79 = load <8 x i1>, ptr %s47, align 8
  %v80 = xor <8 x i1> %v68, splat (i1 true)
  %v81 = xor <8 x i1> %v69, splat (i1 true)
  %v82 = and <8 x i1> %v78, %v80
  %v83 = and <8 x i1> %v79, %v81
  store <8 x i1> %v82, ptr %s46, align 8
  store <8 x i1> %v83, ptr %s47, align 8
  br label %after71
after71:
  %v84 = load <8 x i1>, ptr %s46, align 8
  %v85 = load <8 x i1>, ptr %s47, align 8
  %v86 = and <8 x i1> %v48, %v84
  %v87 = and <8 x i1> %v49, %v85
  %v89 = or <8 x i1> %v86, %v87
  %v90 = bitcast <8 x i1> %v89 to i8
  %v91 = icmp ne i8 %v90, 0
  br i1 %v91, label %still88, label %latch42
still88:
  %v92 = fadd reassoc arcp contract afn <8 x float> %v52, %v34
  %v93 = fadd reassoc arcp contract afn <8 x float> %v53, %v35
  store <8 x float> %v92, ptr %s36, align 4
  store <8 x float> %v93, ptr %s37, align 4
  %v94 = add i32 %v54, 1
  store i32 %v94, ptr %s38, align 4
  %v95 = insertelement <8 x i32> poison, i32 %v94, i64 0
  %v96 = shufflevector <8 x i32> %v95, <8 x i32> poison, <8 x i32> zeroinitializer
  %v97 = load <8 x i32>, ptr %s39, align 4
  %v98 = select <8 x i1> %v86, <8 x i32> %v96, <8 x i32> %v97
  store <8 x i32> %v98, ptr %s39, align 4
  %v99 = insertelement <8 x i32> poison, i32 %v94, i64 0
  %v100 = shufflevector <8 x i32> %v99, <8 x i32> poison, <8 x i32> zeroinitializer
  %v101 = load <8 x i32>, ptr %s40, align 4
  %v102 = select <8 x i1> %v87, <8 x i32> %v100, <8 x i32> %v101
  store <8 x i32> %v102, ptr %s40, align 4
  br label %latch42
latch42:
  %v103 = load <8 x i1>, ptr %s44, align 8
  %v104 = load <8 x i1>, ptr %s45, align 8
  %v105 = or <8 x i1> %v103, %v104
  %v106 = bitcast <8 x i1> %v105 to i8
  %v107 = icmp ne i8 %v106, 0
  br i1 %v107, label %while41, label %done43
done43:
  %v108 = load <8 x i32>, ptr %s39, align 4
  %v109 = load <8 x i32>, ptr %s40, align 4
  %v110 = mul i64 %v10, 256
  %v111 = getelementptr i8, ptr %v2, i64 %v110
  %v112 = mul i64 %i15, 4
  %v113 = getelementptr i8, ptr %v111, i64 %v112
  call void @llvm.masked.store.v8i32.p0(<8 x i32> %v108, ptr align 4 %v113, <8 x i1> %v23), !alias.scope !4, !noalias !5
  %v114 = getelementptr i8, ptr %v113, i64 32
  call void @llvm.masked.store.v8i32.p0(<8 x i32> %v109, ptr align 4 %v114, <8 x i1> %v24), !alias.scope !4, !noalias !5
  br label %latch13
latch13:
  %n16 = add nsw i64 %i15, 16
  br label %head11
done14:
  br label %latch5
latch5:
  %n8 = add nsw i64 %i7, 1
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
!2 = distinct !{!"fields"}
!3 = distinct !{!"field:out", !2}
!4 = !{!3}
!5 = !{}
