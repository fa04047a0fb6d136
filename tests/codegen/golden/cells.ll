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
  %v5 = mul i64 %begin, 8
  %v6 = add i64 0, %v5
  %v7 = mul i64 %end, 8
  %v8 = add i64 0, %v7
  %v9 = call i64 @llvm.smin.i64(i64 %v8, i64 40)
  %v16 = icmp slt i64 %v6, %v9
  br i1 %v16, label %enter10, label %done13
enter10:
  br label %body11
body11:
  %i14 = phi i64 [ %v6, %enter10 ], [ %n15, %latch12 ]
  %v17 = sub i64 %v9, %i14
  %v18 = call i64 @llvm.umin.i64(i64 %v17, i64 8)
  %v19 = trunc i64 %v18 to i32
  %v20 = insertelement <8 x i32> poison, i32 %v19, i64 0
  %v21 = shufflevector <8 x i32> %v20, <8 x i32> poison, <8 x i32> zeroinitializer
  %v22 = icmp ult <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %v21
  %v23 = mul i64 %i14, 12
  %v24 = getelementptr i8, ptr %v2, i64 %v23
  %v25 = getelementptr i8, ptr %v24, i64 4
  %v26 = getelementptr i8, ptr %v24, i64 8
  %v27 = sext <8 x i1> %v22 to <8 x i32>
  %v28 = shufflevector <8 x i32> %v27, <8 x i32> poison, <8 x i32> <i32 0, i32 0, i32 0, i32 1, i32 1, i32 1, i32 2, i32 2>
  %v29 = icmp ne <8 x i32> %v28, zeroinitializer
  %v30 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %v24, <8 x i1> %v29, <8 x float> zeroinitializer), !alias.scope !3, !noalias !4
  %v31 = getelementptr i8, ptr %v24, i64 32
  %v32 = sext <8 x i1> %v22 to <8 x i32>
  %v33 = shufflevector <8 x i32> %v32, <8 x i32> poison, <8 x i32> <i32 2, i32 3, i32 3, i32 3, i32 4, i32 4, i32 4, i32 5>
  %v34 = icmp ne <8 x i32> %v33, zeroinitializer
  %v35 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %v31, <8 x i1> %v34, <8 x float> zeroinitializer), !alias.scope !3, !noalias !4
  %v36 = getelementptr i8, ptr %v24, i64 64
  %v37 = sext <8 x i1> %v22 to <8 x i32>
  %v38 = shufflevector <8 x i32> %v37, <8 x i32> poison, <8 x i32> <i32 5, i32 5, i32 6, i32 6, i32 6, i32 7, i32 7, i32 7>
  %v39 = icmp ne <8 x i32> %v38, zeroinitializer
  %v40 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %v36, <8 x i1> %v39, <8 x float> zeroinitializer), !alias.scope !3, !noalias !4
  %v41 = shufflevector <8 x float> %v30, <8 x float> %v35, <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %v42 = shufflevector <8 x float> %v40, <8 x float> zeroinitializer, <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 8, i32 8, i32 8, i32 8, i32 8, i32 8, i32 8>
  %v43 = shufflevector <16 x float> %v41, <16 x float> %v42, <32 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15, i32 16, i32 17, i32 18, i32 19, i32 20, i32 21, i32 22, i32 23, i32 24, i32 25, i32 26, i32 27, i32 28, i32 29, i32 30, i32 31>
  %v44 = shufflevector <32 x float> %v43, <32 x float> poison, <8 x i32> <i32 0, i32 3, i32 6, i32 9, i32 12, i32 15, i32 18, i32 21>
  %v45 = fcmp ogt <8 x float> %v44, splat (float 0x0000000000000000)
  %v46 = and <8 x i1> %v22, %v45
  %v47 = bitcast <8 x i1> %v46 to i8
  %v48 = icmp ne i8 %v47, 0
  br i1 %v48, label %then49, label %done51
then49:
  %v52 = mul i64 %i14, 12
  %v53 = getelementptr i8, ptr %v4, i64 %v52
  %v54 = getelementptr i8, ptr %v53, i64 4
  %v55 = getelementptr i8, ptr %v53, i64 8
  %v56 = sext <8 x i1> %v46 to <8 x i32>
  %v57 = shufflevector <8 x i32> %v56, <8 x i32> poison, <8 x i32> <i32 0, i32 0, i32 0, i32 1, i32 1, i32 1, i32 2, i32 2>
  %v58 = icmp ne <8 x i32> %v57, zeroinitializer
  %v59 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %v53, <8 x i1> %v58, <8 x float> zeroinitializer), !alias.scope !5, !noalias !6
  %v60 = freeze <8 x float> %v59
  %v61 = getelementptr i8, ptr %v53, i64 32
  %v62 = sext <8 x i1> %v46 to <8 x i32>
  %v63 = shufflevector <8 x i32> %v62, <8 x i32> poison, <8 x i32> <i32 2, i32 3, i32 3, i32 3, i32 4, i32 4, i32 4, i32 5>
  %v64 = icmp ne <8 x i32> %v63, zeroinitializer
  %v65 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %v61, <8 x i1> %v64, <8 x float> zeroinitializer), !alias.scope !5, !noalias !6
  %v66 = freeze <8 x float> %v65
  %v67 = getelementptr i8, ptr %v53, i64 64
  %v68 = sext <8 x i1> %v46 to <8 x i32>
  %v69 = shufflevector <8 x i32> %v68, <8 x i32> poison, <8 x i32> <i32 5, i32 5, i32 6, i32 6, i32 6, i32 7, i32 7, i32 7>
  %v70 = icmp ne <8 x i32> %v69, zeroinitializer
  %v71 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %v67, <8 x i1> %v70, <8 x float> zeroinitializer), !alias.scope !5, !noalias !6
  %v72 = freeze <8 x float> %v71
  %v73 = shufflevector <8 x float> %v60, <8 x float> %v66, <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %v74 = shufflevector <8 x float> %v72, <8 x float> zeroinitializer, <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 8, i32 8, i32 8, i32 8, i32 8, i32 8, i32 8>
  %v75 = shufflevector <16 x float> %v73, <16 x float> %v74, <32 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15, i32 16, i32 17, i32 18, i32 19, i32 20, i32 21, i32 22, i32 23, i32 24, i32 25, i32 26, i32 27, i32 28, i32 29, i32 30, i32 31>
  %v76 = shufflevector <32 x float> %v75, <32 x float> poison, <8 x i32> <i32 0, i32 3, i32 6, i32 9, i32 12, i32 15, i32 18, i32 21>
  %v77 = shufflevector <32 x float> %v75, <32 x float> poison, <8 x i32> <i32 1, i32 4, i32 7, i32 10, i32 13, i32 16, i32 19, i32 22>
  %v78 = shufflevector <32 x float> %v75, <32 x float> poison, <8 x i32> <i32 2, i32 5, i32 8, i32 11, i32 14, i32 17, i32 20, i32 23>
  %v79 = getelementptr i8, ptr %v25, i64 -4
  %v80 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %v79, <8 x i1> %v58, <8 x float> zeroinitializer), !alias.scope !3, !noalias !4
  %v81 = getelementptr i8, ptr %v25, i64 28
  %v82 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %v81, <8 x i1> %v64, <8 x float> zeroinitializer), !alias.scope !3, !noalias !4
  %v83 = getelementptr i8, ptr %v25, i64 60
  %v84 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %v83, <8 x i1> %v70, <8 x float> zeroinitializer), !alias.scope !3, !noalias !4
  %v85 = shufflevector <8 x float> %v80, <8 x float> %v82, <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %v86 = shufflevector <8 x float> %v84, <8 x float> zeroinitializer, <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 8, i32 8, i32 8, i32 8, i32 8, i32 8, i32 8>
  %v87 = shufflevector <16 x float> %v85, <16 x float> %v86, <32 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15, i32 16, i32 17, i32 18, i32 19, i32 20, i32 21, i32 22, i32 23, i32 24, i32 25, i32 26, i32 27, i32 28, i32 29, i32 30, i32 31>
  %v88 = shufflevector <32 x float> %v87, <32 x float> poison, <8 x i32> <i32 1, i32 4, i32 7, i32 10, i32 13, i32 16, i32 19, i32 22>
  %v89 = shufflevector <32 x float> %v87, <32 x float> poison, <8 x i32> <i32 2, i32 5, i32 8, i32 11, i32 14, i32 17, i32 20, i32 23>
  %v90 = fadd reassoc arcp contract afn <8 x float> %v76, %v44
  %v91 = fadd reassoc arcp contract afn <8 x float> %v77, %v88
  %v92 = fadd reassoc arcp contract afn <8 x float> %v78, %v89
  %v93 = shufflevector <8 x float> %v90, <8 x float> %v91, <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %v94 = shufflevector <8 x float> %v92, <8 x float> zeroinitializer, <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 8, i32 8, i32 8, i32 8, i32 8, i32 8, i32 8>
  %v95 = shufflevector <16 x float> %v93, <16 x float> %v94, <32 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15, i32 16, i32 17, i32 18, i32 19, i32 20, i32 21, i32 22, i32 23, i32 24, i32 25, i32 26, i32 27, i32 28, i32 29, i32 30, i32 31>
  %v96 = shufflevector <32 x float> %v95, <32 x float> poison, <8 x i32> <i32 0, i32 8, i32 16, i32 1, i32 9, i32 17, i32 2, i32 10>
  call void @llvm.masked.store.v8f32.p0(<8 x float> %v96, ptr align 4 %v53, <8 x i1> %v58), !alias.scope !5, !noalias !6
  %v97 = shufflevector <32 x float> %v95, <32 x float> poison, <8 x i32> <i32 18, i32 3, i32 11, i32 19, i32 4, i32 12, i32 20, i32 5>
  call void @llvm.masked.store.v8f32.p0(<8 x float> %v97, ptr align 4 %v61, <8 x i1> %v64), !alias.scope !5, !noalias !6
  %v98 = shufflevector <32 x float> %v95, <32 x float> poison, <8 x i32> <i32 13, i32 21, i32 6, i32 14, i32 22, i32 7, i32 15, i32 23>
  call void @llvm.masked.store.v8f32.p0(<8 x float> %v98, ptr align 4 %v67, <8 x i1> %v70), !alias.scope !5, !noalias !6
  br label %done51
done51:
  br label %latch12
latch12:
  %n15 = add nsw i64 %i14, 8
  %v99 = icmp ugt i64 %v17, 8
  br i1 %v99, label %body11, label %done13
done13:
  br label %exit
exit:
  ret void
}

define void @weft_entry(ptr noalias %ctx) nounwind "reciprocal-estimates"="none" {
entry:
  %s1 = alloca [2 x i64], align 8
  br label %start
start:
  %v2 = add i64 40, 7
  %v3 = udiv i64 %v2, 8
  %v4 = mul nsw i64 8, 13
  %v5 = call i64 @llvm.smax.i64(i64 %v4, i64 1)
  %v6 = udiv i64 40000, %v5
  %v7 = add i64 %v6, 1
  %v8 = icmp sle i64 %v3, %v7
  br i1 %v8, label %here9, label %shared10
here9:
  call void @weft_task0(ptr %ctx, ptr %s1, i64 0, i64 %v3)
  br label %done11
shared10:
  %v12 = getelementptr inbounds i8, ptr %ctx, i64 0
  %v13 = load ptr, ptr %v12, align 8, !invariant.load !{}
  %v14 = getelementptr inbounds i8, ptr %v13, i64 16
  %v15 = load i64, ptr %v14, align 8, !invariant.load !{}
  %v16 = getelementptr inbounds i8, ptr %ctx, i64 0
  %v17 = load ptr, ptr %v16, align 8, !invariant.load !{}
  %v18 = getelementptr inbounds i8, ptr %v17, i64 0
  %v19 = load ptr, ptr %v18, align 8, !invariant.load !{}
  call void %v19(i64 %v15, ptr @weft_task0, ptr %ctx, ptr %s1, i64 %v3, i64 %v7)
  br label %done11
done11:
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
