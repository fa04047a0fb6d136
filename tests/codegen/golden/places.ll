; a golden module


declare i64 @llvm.smax.i64(i64, i64)
declare i64 @llvm.smin.i64(i64, i64)
declare i64 @llvm.umin.i64(i64, i64)
declare <8 x float> @llvm.masked.load.v8f32.p0(ptr, <8 x i1>, <8 x float>)
declare i8 @llvm.cttz.i8(i8, i1)
declare <4 x float> @llvm.masked.load.v4f32.p0(ptr, <4 x i1>, <4 x float>)
declare <8 x float> @llvm.fmuladd.v8f32(<8 x float>, <8 x float>, <8 x float>)
declare void @llvm.masked.store.v8f32.p0(<8 x float>, ptr, <8 x i1>)

define internal void @weft_task0(ptr noalias %ctx, ptr noalias %box, i64 %begin, i64 %end) noinline nounwind "reciprocal-estimates"="none" {
entry:
  br label %start
start:
  %v1 = getelementptr inbounds i8, ptr %ctx, i64 24
  %v2 = load ptr, ptr %v1, align 8, !invariant.load !{}
  %v3 = getelementptr inbounds i8, ptr %ctx, i64 32
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
  %v23 = mul i64 %i14, 4
  %v24 = getelementptr i8, ptr %v2, i64 %v23
  %v25 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %v24, <8 x i1> %v22, <8 x float> zeroinitializer), !alias.scope !3, !noalias !4
  %v26 = freeze <8 x float> %v25
  %v27 = fmul reassoc arcp contract afn <8 x float> %v26, splat (float 0x4022000000000000)
  %v28 = fcmp ord <8 x float> %v27, %v27
  %v29 = select <8 x i1> %v28, <8 x float> %v27, <8 x float> splat (float 0x0000000000000000)
  %v30 = fcmp ogt <8 x float> %v29, splat (float 0xC1E0000000000000)
  %v31 = select <8 x i1> %v30, <8 x float> %v29, <8 x float> splat (float 0xC1E0000000000000)
  %v32 = fcmp olt <8 x float> %v31, splat (float 0x41DFFFFFE0000000)
  %v33 = select <8 x i1> %v32, <8 x float> %v31, <8 x float> splat (float 0x41DFFFFFE0000000)
  %v34 = fptosi <8 x float> %v33 to <8 x i32>
  %v35 = fcmp ogt <8 x float> %v29, splat (float 0x41DFFFFFE0000000)
  %v36 = select <8 x i1> %v35, <8 x i32> splat (i32 2147483647), <8 x i32> %v34
  %v37 = sext <8 x i32> %v36 to <8 x i64>
  %v38 = mul <8 x i32> %v36, splat (i32 12)
  %v39 = sext <8 x i32> %v38 to <8 x i64>
  %v40 = getelementptr i8, ptr %v4, <8 x i64> %v39
  %v41 = getelementptr i8, <8 x ptr> %v40, i64 4
  %v42 = getelementptr i8, <8 x ptr> %v40, i64 8
  %v43 = bitcast <8 x i1> %v22 to i8
  %v44 = call i8 @llvm.cttz.i8(i8 %v43, i1 false)
  %v45 = and i8 %v44, 7
  %v46 = zext i8 %v45 to i64
  %v47 = extractelement <8 x ptr> %v40, i64 %v46
  %v48 = insertelement <8 x ptr> poison, ptr %v47, i64 0
  %v49 = shufflevector <8 x ptr> %v48, <8 x ptr> poison, <8 x i32> zeroinitializer
  %v50 = select <8 x i1> %v22, <8 x ptr> %v40, <8 x ptr> %v49
  %v51 = extractelement <8 x ptr> %v50, i64 0
  %v52 = extractelement <8 x ptr> %v50, i64 1
  %v53 = extractelement <8 x ptr> %v50, i64 2
  %v54 = extractelement <8 x ptr> %v50, i64 3
  %v55 = extractelement <8 x ptr> %v50, i64 4
  %v56 = extractelement <8 x ptr> %v50, i64 5
  %v57 = extractelement <8 x ptr> %v50, i64 6
  %v58 = extractelement <8 x ptr> %v50, i64 7
  %v59 = call <4 x float> @llvm.masked.load.v4f32.p0(ptr align 4 %v51, <4 x i1> <i1 true, i1 true, i1 true, i1 false>, <4 x float> zeroinitializer), !alias.scope !5, !noalias !6
  %v60 = call <4 x float> @llvm.masked.load.v4f32.p0(ptr align 4 %v52, <4 x i1> <i1 true, i1 true, i1 true, i1 false>, <4 x float> zeroinitializer), !alias.scope !5, !noalias !6
  %v61 = call <4 x float> @llvm.masked.load.v4f32.p0(ptr align 4 %v53, <4 x i1> <i1 true, i1 true, i1 true, i1 false>, <4 x float> zeroinitializer), !alias.scope !5, !noalias !6
  %v62 = call <4 x float> @llvm.masked.load.v4f32.p0(ptr align 4 %v54, <4 x i1> <i1 true, i1 true, i1 true, i1 false>, <4 x float> zeroinitializer), !alias.scope !5, !noalias !6
  %v63 = call <4 x float> @llvm.masked.load.v4f32.p0(ptr align 4 %v55, <4 x i1> <i1 true, i1 true, i1 true, i1 false>, <4 x float> zeroinitializer), !alias.scope !5, !noalias !6
  %v64 = call <4 x float> @llvm.masked.load.v4f32.p0(ptr align 4 %v56, <4 x i1> <i1 true, i1 true, i1 true, i1 false>, <4 x float> zeroinitializer), !alias.scope !5, !noalias !6
  %v65 = call <4 x float> @llvm.masked.load.v4f32.p0(ptr align 4 %v57, <4 x i1> <i1 true, i1 true, i1 true, i1 false>, <4 x float> zeroinitializer), !alias.scope !5, !noalias !6
  %v66 = call <4 x float> @llvm.masked.load.v4f32.p0(ptr align 4 %v58, <4 x i1> <i1 true, i1 true, i1 true, i1 false>, <4 x float> zeroinitializer), !alias.scope !5, !noalias !6
  %v67 = shufflevector <4 x float> %v59, <4 x float> %v60, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %v68 = shufflevector <4 x float> %v61, <4 x float> %v62, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %v69 = shufflevector <4 x float> %v63, <4 x float> %v64, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %v70 = shufflevector <4 x float> %v65, <4 x float> %v66, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %v71 = shufflevector <8 x float> %v67, <8 x float> %v68, <8 x i32> <i32 0, i32 4, i32 8, i32 12, i32 1, i32 5, i32 9, i32 13>
  %v72 = shufflevector <8 x float> %v69, <8 x float> %v70, <8 x i32> <i32 0, i32 4, i32 8, i32 12, i32 1, i32 5, i32 9, i32 13>
  %v73 = shufflevector <8 x float> %v67, <8 x float> %v68, <8 x i32> <i32 2, i32 6, i32 10, i32 14, i32 3, i32 7, i32 11, i32 15>
  %v74 = shufflevector <8 x float> %v69, <8 x float> %v70, <8 x i32> <i32 2, i32 6, i32 10, i32 14, i32 3, i32 7, i32 11, i32 15>
  %v75 = shufflevector <8 x float> %v71, <8 x float> %v72, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 8, i32 9, i32 10, i32 11>
  %v76 = shufflevector <8 x float> %v71, <8 x float> %v72, <8 x i32> <i32 4, i32 5, i32 6, i32 7, i32 12, i32 13, i32 14, i32 15>
  %v77 = shufflevector <8 x float> %v73, <8 x float> %v74, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 8, i32 9, i32 10, i32 11>
  %v78 = fmul reassoc arcp contract afn <8 x float> %v75, %v75
  %v79 = fmul reassoc arcp contract afn <8 x float> %v76, %v76
  %v80 = fmul reassoc arcp contract afn <8 x float> %v77, %v77
  %v81 = call reassoc arcp contract afn <8 x float> @llvm.fmuladd.v8f32(<8 x float> %v75, <8 x float> %v75, <8 x float> %v79)
  %v82 = fadd reassoc arcp contract afn <8 x float> %v81, %v80
  call void @llvm.masked.store.v8f32.p0(<8 x float> %v82, ptr align 4 %v24, <8 x i1> %v22), !alias.scope !3, !noalias !4
  br label %latch12
latch12:
  %n15 = add nsw i64 %i14, 8
  %v83 = icmp ugt i64 %v17, 8
  br i1 %v83, label %body11, label %done13
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
  %v4 = mul nsw i64 8, 10
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
!1 = distinct !{!"field:f", !0}
!2 = distinct !{!"field:u", !0}
!3 = !{!1}
!4 = !{!2}
!5 = !{!2}
!6 = !{!1}
