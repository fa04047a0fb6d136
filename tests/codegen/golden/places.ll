; a golden module


declare i64 @llvm.smax.i64(i64, i64)
declare i64 @llvm.smin.i64(i64, i64)
declare i64 @llvm.umin.i64(i64, i64)
declare <8 x float> @llvm.masked.load.v8f32.p0(ptr, <8 x i1>, <8 x float>)
declare i8 @llvm.cttz.i8(i8, i1)
declare <4 x float> @llvm.masked.load.v4f32.p0(ptr, <4 x i1>, <4 x float>)
declare void @llvm.masked.store.v8f32.p0(<8 x float>, ptr, <8 x i1>)

define internal void @weft_task0(ptr noalias %ctx, ptr noalias %box, i64 %begin, i64 %end) noinline nounwind "reciprocal-estimates"="none" {
entry:
  br label %start
start:
  %v1 = getelementptr inbounds i8, ptr %ctx, i64 24
  %v2 = load ptr, ptr %v1, align 8, !invariant.load !{}
  %v3 = getelementptr inbounds i8, ptr %ctx, i64 32
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
  %v24 = mul i64 %i15, 4
  %v25 = getelementptr i8, ptr %v2, i64 %v24
  %v26 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %v25, <8 x i1> %v23, <8 x float> zeroinitializer), !alias.scope !3, !noalias !4
  %v27 = freeze <8 x float> %v26
  %v28 = fmul reassoc arcp contract afn <8 x float> %v27, splat (float 0x4022000000000000)
  %v29 = fcmp ord <8 x float> %v28, %v28
  %v30 = select <8 x i1> %v29, <8 x float> %v28, <8 x float> splat (float 0x0000000000000000)
  %v31 = fcmp ogt <8 x float> %v30, splat (float 0xC1E0000000000000)
  %v32 = select <8 x i1> %v31, <8 x float> %v30, <8 x float> splat (float 0xC1E0000000000000)
  %v33 = fcmp olt <8 x float> %v32, splat (float 0x41DFFFFFE0000000)
  %v34 = select <8 x i1> %v33, <8 x float> %v32, <8 x float> splat (float 0x41DFFFFFE0000000)
  %v35 = fptosi <8 x float> %v34 to <8 x i32>
  %v36 = fcmp ogt <8 x float> %v30, splat (float 0x41DFFFFFE0000000)
  %v37 = select <8 x i1> %v36, <8 x i32> splat (i32 2147483647), <8 x i32> %v35
  %v38 = sext <8 x i32> %v37 to <8 x i64>
  %v39 = mul <8 x i32> %v37, splat (i32 12)
  %v40 = sext <8 x i32> %v39 to <8 x i64>
  %v41 = getelementptr i8, ptr %v4, <8 x i64> %v40
  %v42 = getelementptr i8, <8 x ptr> %v41, i64 4
  %v43 = getelementptr i8, <8 x ptr> %v41, i64 8
  %v44 = bitcast <8 x i1> %v23 to i8
  %v45 = call i8 @llvm.cttz.i8(i8 %v44, i1 false)
  %v46 = and i8 %v45, 7
  %v47 = zext i8 %v46 to i64
  %v48 = extractelement <8 x ptr> %v41, i64 %v47
  %v49 = insertelement <8 x ptr> poison, ptr %v48, i64 0
  %v50 = shufflevector <8 x ptr> %v49, <8 x ptr> poison, <8 x i32> zeroinitializer
  %v51 = select <8 x i1> %v23, <8 x ptr> %v41, <8 x ptr> %v50
  %v52 = extractelement <8 x ptr> %v51, i64 0
  %v53 = extractelement <8 x ptr> %v51, i64 1
  %v54 = extractelement <8 x ptr> %v51, i64 2
  %v55 = extractelement <8 x ptr> %v51, i64 3
  %v56 = extractelement <8 x ptr> %v51, i64 4
  %v57 = extractelement <8 x ptr> %v51, i64 5
  %v58 = extractelement <8 x ptr> %v51, i64 6
  %v59 = extractelement <8 x ptr> %v51, i64 7
  %v60 = call <4 x float> @llvm.masked.load.v4f32.p0(ptr align 4 %v52, <4 x i1> <i1 true, i1 true, i1 true, i1 false>, <4 x float> zeroinitializer), !alias.scope !5, !noalias !6
  %v61 = call <4 x float> @llvm.masked.load.v4f32.p0(ptr align 4 %v53, <4 x i1> <i1 true, i1 true, i1 true, i1 false>, <4 x float> zeroinitializer), !alias.scope !5, !noalias !6
  %v62 = call <4 x float> @llvm.masked.load.v4f32.p0(ptr align 4 %v54, <4 x i1> <i1 true, i1 true, i1 true, i1 false>, <4 x float> zeroinitializer), !alias.scope !5, !noalias !6
  %v63 = call <4 x float> @llvm.masked.load.v4f32.p0(ptr align 4 %v55, <4 x i1> <i1 true, i1 true, i1 true, i1 false>, <4 x float> zeroinitializer), !alias.scope !5, !noalias !6
  %v64 = call <4 x float> @llvm.masked.load.v4f32.p0(ptr align 4 %v56, <4 x i1> <i1 true, i1 true, i1 true, i1 false>, <4 x float> zeroinitializer), !alias.scope !5, !noalias !6
  %v65 = call <4 x float> @llvm.masked.load.v4f32.p0(ptr align 4 %v57, <4 x i1> <i1 true, i1 true, i1 true, i1 false>, <4 x float> zeroinitializer), !alias.scope !5, !noalias !6
  %v66 = call <4 x float> @llvm.masked.load.v4f32.p0(ptr align 4 %v58, <4 x i1> <i1 true, i1 true, i1 true, i1 false>, <4 x float> zeroinitializer), !alias.scope !5, !noalias !6
  %v67 = call <4 x float> @llvm.masked.load.v4f32.p0(ptr align 4 %v59, <4 x i1> <i1 true, i1 true, i1 true, i1 false>, <4 x float> zeroinitializer), !alias.scope !5, !noalias !6
  %v68 = shufflevector <4 x float> %v60, <4 x float> %v61, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %v69 = shufflevector <4 x float> %v62, <4 x float> %v63, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %v70 = shufflevector <4 x float> %v64, <4 x float> %v65, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %v71 = shufflevector <4 x float> %v66, <4 x float> %v67, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %v72 = shufflevector <8 x float> %v68, <8 x float> %v69, <8 x i32> <i32 0, i32 4, i32 8, i32 12, i32 1, i32 5, i32 9, i32 13>
  %v73 = shufflevector <8 x float> %v70, <8 x float> %v71, <8 x i32> <i32 0, i32 4, i32 8, i32 12, i32 1, i32 5, i32 9, i32 13>
  %v74 = shufflevector <8 x float> %v68, <8 x float> %v69, <8 x i32> <i32 2, i32 6, i32 10, i32 14, i32 3, i32 7, i32 11, i32 15>
  %v75 = shufflevector <8 x float> %v70, <8 x float> %v71, <8 x i32> <i32 2, i32 6, i32 10, i32 14, i32 3, i32 7, i32 11, i32 15>
  %v76 = shufflevector <8 x float> %v72, <8 x float> %v73, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 8, i32 9, i32 10, i32 11>
  %v77 = shufflevector <8 x float> %v72, <8 x float> %v73, <8 x i32> <i32 4, i32 5, i32 6, i32 7, i32 12, i32 13, i32 14, i32 15>
  %v78 = shufflevector <8 x float> %v74, <8 x float> %v75, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 8, i32 9, i32 10, i32 11>
  %v79 = fmul reassoc arcp contract afn <8 x float> %v76, %v76
  %v80 = fmul reassoc arcp contract afn <8 x float> %v77, %v77
  %v81 = fmul reassoc arcp contract afn <8 x float> %v78, %v78
  %v82 = fadd reassoc arcp contract afn <8 x float> %v79, %v80
  %v83 = fadd reassoc arcp contract afn <8 x float> %v82, %v81
  call void @llvm.masked.store.v8f32.p0(<8 x float> %v83, ptr align 4 %v25, <8 x i1> %v23), !alias.scope !3, !noalias !4
  br label %latch13
latch13:
  %n16 = add nsw i64 %i15, 8
  %v84 = icmp ugt i64 %v18, 8
  br i1 %v84, label %body12, label %done14
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
  %v8 = mul nsw i64 8, 10
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
!1 = distinct !{!"field:f", !0}
!2 = distinct !{!"field:u", !0}
!3 = !{!1}
!4 = !{!2}
!5 = !{!2}
!6 = !{!1}
