; a golden module


declare i64 @llvm.smax.i64(i64, i64)
declare i64 @llvm.smin.i64(i64, i64)
declare i64 @llvm.umin.i64(i64, i64)
declare <8 x float> @llvm.masked.load.v8f32.p0(ptr, <8 x i1>, <8 x float>)
declare void @llvm.masked.store.v8f32.p0(<8 x float>, ptr, <8 x i1>)

define internal void @weft_task0(ptr noalias %ctx, ptr noalias %box, i64 %begin, i64 %end) noinline nounwind "reciprocal-estimates"="none" {
entry:
  br label %start
start:
  %v1 = getelementptr inbounds i8, ptr %ctx, i64 32
  %v2 = load ptr, ptr %v1, align 8, !invariant.load !{}
  %v3 = getelementptr inbounds i8, ptr %ctx, i64 24
  %v4 = load ptr, ptr %v3, align 8, !invariant.load !{}
  %v6 = mul i64 %begin, 8
  %v7 = add i64 0, %v6
  %v8 = mul i64 %end, 8
  %v9 = add i64 0, %v8
  %v10 = call i64 @llvm.smin.i64(i64 %v9, i64 40)
  %v17 = icmp slt i64 %v7, %v10
  br i1 %v17, label %enter11, label %done14
enter11:
  br label %body12
body12:
  %i15 = phi i64 [ %v7, %enter11 ], [ %n16, %latch13 ]
  %v18 = sub i64 %v10, %i15
  %v19 = call i64 @llvm.umin.i64(i64 %v18, i64 8)
  %v20 = trunc i64 %v19 to i32
  %v21 = insertelement <8 x i32> poison, i32 %v20, i64 0
  %v22 = shufflevector <8 x i32> %v21, <8 x i32> poison, <8 x i32> zeroinitializer
  %v23 = icmp ult <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %v22
  %v24 = mul i64 %i15, 12
  %v25 = getelementptr i8, ptr %v2, i64 %v24
  %v26 = getelementptr i8, ptr %v25, i64 4
  %v27 = getelementptr i8, ptr %v25, i64 8
  %v28 = sext <8 x i1> %v23 to <8 x i32>
  %v29 = shufflevector <8 x i32> %v28, <8 x i32> poison, <8 x i32> <i32 0, i32 0, i32 0, i32 1, i32 1, i32 1, i32 2, i32 2>
  %v30 = icmp ne <8 x i32> %v29, zeroinitializer
  %v31 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %v25, <8 x i1> %v30, <8 x float> zeroinitializer), !alias.scope !3, !noalias !4
  %v32 = getelementptr i8, ptr %v25, i64 32
  %v33 = sext <8 x i1> %v23 to <8 x i32>
  %v34 = shufflevector <8 x i32> %v33, <8 x i32> poison, <8 x i32> <i32 2, i32 3, i32 3, i32 3, i32 4, i32 4, i32 4, i32 5>
  %v35 = icmp ne <8 x i32> %v34, zeroinitializer
  %v36 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %v32, <8 x i1> %v35, <8 x float> zeroinitializer), !alias.scope !3, !noalias !4
  %v37 = getelementptr i8, ptr %v25, i64 64
  %v38 = sext <8 x i1> %v23 to <8 x i32>
  %v39 = shufflevector <8 x i32> %v38, <8 x i32> poison, <8 x i32> <i32 5, i32 5, i32 6, i32 6, i32 6, i32 7, i32 7, i32 7>
  %v40 = icmp ne <8 x i32> %v39, zeroinitializer
  %v41 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %v37, <8 x i1> %v40, <8 x float> zeroinitializer), !alias.scope !3, !noalias !4
  %v42 = shufflevector <8 x float> %v31, <8 x float> %v36, <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %v43 = shufflevector <8 x float> %v41, <8 x float> zeroinitializer, <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 8, i32 8, i32 8, i32 8, i32 8, i32 8, i32 8>
  %v44 = shufflevector <16 x float> %v42, <16 x float> %v43, <32 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15, i32 16, i32 17, i32 18, i32 19, i32 20, i32 21, i32 22, i32 23, i32 24, i32 25, i32 26, i32 27, i32 28, i32 29, i32 30, i32 31>
  %v45 = shufflevector <32 x float> %v44, <32 x float> poison, <8 x i32> <i32 0, i32 3, i32 6, i32 9, i32 12, i32 15, i32 18, i32 21>
  %v46 = fcmp ogt <8 x float> %v45, splat (float 0x0000000000000000)
  %v47 = and <8 x i1> %v23, %v46
  %v48 = bitcast <8 x i1> %v47 to i8
  %v49 = icmp ne i8 %v48, 0
  br i1 %v49, label %then50, label %done52
then50:
  %v53 = mul i64 %i15, 12
  %v54 = getelementptr i8, ptr %v4, i64 %v53
  %v55 = getelementptr i8, ptr %v54, i64 4
  %v56 = getelementptr i8, ptr %v54, i64 8
  %v57 = sext <8 x i1> %v47 to <8 x i32>
  %v58 = shufflevector <8 x i32> %v57, <8 x i32> poison, <8 x i32> <i32 0, i32 0, i32 0, i32 1, i32 1, i32 1, i32 2, i32 2>
  %v59 = icmp ne <8 x i32> %v58, zeroinitializer
  %v60 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %v54, <8 x i1> %v59, <8 x float> zeroinitializer), !alias.scope !5, !noalias !6
  %v61 = freeze <8 x float> %v60
  %v62 = getelementptr i8, ptr %v54, i64 32
  %v63 = sext <8 x i1> %v47 to <8 x i32>
  %v64 = shufflevector <8 x i32> %v63, <8 x i32> poison, <8 x i32> <i32 2, i32 3, i32 3, i32 3, i32 4, i32 4, i32 4, i32 5>
  %v65 = icmp ne <8 x i32> %v64, zeroinitializer
  %v66 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %v62, <8 x i1> %v65, <8 x float> zeroinitializer), !alias.scope !5, !noalias !6
  %v67 = freeze <8 x float> %v66
  %v68 = getelementptr i8, ptr %v54, i64 64
  %v69 = sext <8 x i1> %v47 to <8 x i32>
  %v70 = shufflevector <8 x i32> %v69, <8 x i32> poison, <8 x i32> <i32 5, i32 5, i32 6, i32 6, i32 6, i32 7, i32 7, i32 7>
  %v71 = icmp ne <8 x i32> %v70, zeroinitializer
  %v72 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %v68, <8 x i1> %v71, <8 x float> zeroinitializer), !alias.scope !5, !noalias !6
  %v73 = freeze <8 x float> %v72
  %v74 = shufflevector <8 x float> %v61, <8 x float> %v67, <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %v75 = shufflevector <8 x float> %v73, <8 x float> zeroinitializer, <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 8, i32 8, i32 8, i32 8, i32 8, i32 8, i32 8>
  %v76 = shufflevector <16 x float> %v74, <16 x float> %v75, <32 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15, i32 16, i32 17, i32 18, i32 19, i32 20, i32 21, i32 22, i32 23, i32 24, i32 25, i32 26, i32 27, i32 28, i32 29, i32 30, i32 31>
  %v77 = shufflevector <32 x float> %v76, <32 x float> poison, <8 x i32> <i32 0, i32 3, i32 6, i32 9, i32 12, i32 15, i32 18, i32 21>
  %v78 = shufflevector <32 x float> %v76, <32 x float> poison, <8 x i32> <i32 1, i32 4, i32 7, i32 10, i32 13, i32 16, i32 19, i32 22>
  %v79 = shufflevector <32 x float> %v76, <32 x float> poison, <8 x i32> <i32 2, i32 5, i32 8, i32 11, i32 14, i32 17, i32 20, i32 23>
  %v80 = getelementptr i8, ptr %v26, i64 -4
  %v81 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %v80, <8 x i1> %v59, <8 x float> zeroinitializer), !alias.scope !3, !noalias !4
  %v82 = getelementptr i8, ptr %v26, i64 28
  %v83 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %v82, <8 x i1> %v65, <8 x float> zeroinitializer), !alias.scope !3, !noalias !4
  %v84 = getelementptr i8, ptr %v26, i64 60
  %v85 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %v84, <8 x i1> %v71, <8 x float> zeroinitializer), !alias.scope !3, !noalias !4
  %v86 = shufflevector <8 x float> %v81, <8 x float> %v83, <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %v87 = shufflevector <8 x float> %v85, <8 x float> zeroinitializer, <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 8, i32 8, i32 8, i32 8, i32 8, i32 8, i32 8>
  %v88 = shufflevector <16 x float> %v86, <16 x float> %v87, <32 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15, i32 16, i32 17, i32 18, i32 19, i32 20, i32 21, i32 22, i32 23, i32 24, i32 25, i32 26, i32 27, i32 28, i32 29, i32 30, i32 31>
  %v89 = shufflevector <32 x float> %v88, <32 x float> poison, <8 x i32> <i32 1, i32 4, i32 7, i32 10, i32 13, i32 16, i32 19, i32 22>
  %v90 = shufflevector <32 x float> %v88, <32 x float> poison, <8 x i32> <i32 2, i32 5, i32 8, i32 11, i32 14, i32 17, i32 20, i32 23>
  %v91 = fadd reassoc arcp contract afn <8 x float> %v77, %v45
  %v92 = fadd reassoc arcp contract afn <8 x float> %v78, %v89
  %v93 = fadd reassoc arcp contract afn <8 x float> %v79, %v90
  %v94 = shufflevector <8 x float> %v91, <8 x float> %v92, <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %v95 = shufflevector <8 x float> %v93, <8 x float> zeroinitializer, <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 8, i32 8, i32 8, i32 8, i32 8, i32 8, i32 8>
  %v96 = shufflevector <16 x float> %v94, <16 x float> %v95, <32 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15, i32 16, i32 17, i32 18, i32 19, i32 20, i32 21, i32 22, i32 23, i32 24, i32 25, i32 26, i32 27, i32 28, i32 29, i32 30, i32 31>
  %v97 = shufflevector <32 x float> %v96, <32 x float> poison, <8 x i32> <i32 0, i32 8, i32 16, i32 1, i32 9, i32 17, i32 2, i32 10>
  call void @llvm.masked.store.v8f32.p0(<8 x float> %v97, ptr align 4 %v54, <8 x i1> %v59), !alias.scope !5, !noalias !6
  %v98 = shufflevector <32 x float> %v96, <32 x float> poison, <8 x i32> <i32 18, i32 3, i32 11, i32 19, i32 4, i32 12, i32 20, i32 5>
  call void @llvm.masked.store.v8f32.p0(<8 x float> %v98, ptr align 4 %v62, <8 x i1> %v65), !alias.scope !5, !noalias !6
  %v99 = shufflevector <32 x float> %v96, <32 x float> poison, <8 x i32> <i32 13, i32 21, i32 6, i32 14, i32 22, i32 7, i32 15, i32 23>
  call void @llvm.masked.store.v8f32.p0(<8 x float> %v99, ptr align 4 %v68, <8 x i1> %v71), !alias.scope !5, !noalias !6
  br label %done52
done52:
  br label %latch13
latch13:
  %n16 = add nsw i64 %i15, 8
  %v100 = icmp ugt i64 %v18, 8
  br i1 %v100, label %body12, label %done14
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
  store i64 40, ptr %v3, align 8
  %v4 = sub nsw i64 40, 0
  %v5 = call i64 @llvm.smax.i64(i64 %v4, i64 0)
  %v6 = add i64 %v5, 7
  %v7 = udiv i64 %v6, 8
  %v8 = mul nsw i64 8, 13
  %v9 = call i64 @llvm.smax.i64(i64 %v8, i64 1)
  %v10 = udiv i64 40000, %v9
  %v11 = add i64 %v10, 1
  %v12 = icmp sle i64 %v7, %v11
  br i1 %v12, label %here13, label %shared14
here13:
  call void @weft_task0(ptr %ctx, ptr %s1, i64 0, i64 %v7)
  br label %done15
shared14:
  %v16 = getelementptr inbounds i8, ptr %ctx, i64 0
  %v17 = load ptr, ptr %v16, align 8, !invariant.load !{}
  %v18 = getelementptr inbounds i8, ptr %v17, i64 16
  %v19 = load i64, ptr %v18, align 8, !invariant.load !{}
  %v20 = getelementptr inbounds i8, ptr %ctx, i64 0
  %v21 = load ptr, ptr %v20, align 8, !invariant.load !{}
  %v22 = getelementptr inbounds i8, ptr %v21, i64 0
  %v23 = load ptr, ptr %v22, align 8, !invariant.load !{}
  call void %v23(i64 %v19, ptr @weft_task0, ptr %ctx, ptr %s1, i64 %v7, i64 %v11)
  br label %done15
done15:
  br label %exit
exit:
  ret void
}

!0 = distinct !{!"fields"}
!1 = distinct !{!"field:w", !0}
!2 = distinct !{!"field:v", !0}
!3 = !{!1}
!4 = !{!2}
!5 = !{!2}
!6 = !{!1}
