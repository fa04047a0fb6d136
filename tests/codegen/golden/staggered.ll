; a golden module


declare i64 @llvm.smax.i64(i64, i64)
declare i64 @llvm.smin.i64(i64, i64)
declare i64 @llvm.umin.i64(i64, i64)
declare <8 x i32> @llvm.ssub.sat.v8i32(<8 x i32>, <8 x i32>)
declare void @llvm.masked.store.v8i32.p0(<8 x i32>, ptr, <8 x i1>)

define internal void @weft_task0(ptr noalias %ctx, ptr noalias %box, i64 %begin, i64 %end) noinline nounwind "reciprocal-estimates"="none" {
entry:
  %s27 = alloca <8 x i32>, align 64
  %s28 = alloca <8 x i32>, align 64
  %s41 = alloca <8 x i32>, align 64
  %s42 = alloca <8 x i32>, align 64
  %s49 = alloca <8 x i1>, align 8
  %s50 = alloca <8 x i1>, align 8
  %s51 = alloca <8 x i1>, align 8
  %s52 = alloca <8 x i1>, align 8
  br label %start
start:
  %v1 = getelementptr inbounds i8, ptr %box, i64 8
  %v2 = load i64, ptr %v1, align 8, !invariant.load !{}
  %v3 = getelementptr inbounds i8, ptr %ctx, i64 32
  %v4 = load ptr, ptr %v3, align 8, !invariant.load !{}
  %v5 = getelementptr inbounds i8, ptr %ctx, i64 24
  %v6 = load i32, ptr %v5, align 8, !invariant.load !{}
  %v7 = mul i64 %begin, 16
  %v8 = add i64 0, %v7
  %v9 = mul i64 %end, 16
  %v10 = add i64 0, %v9
  %v11 = call i64 @llvm.smin.i64(i64 %v10, i64 %v2)
  br label %head12
head12:
  %i16 = phi i64 [ %v8, %start ], [ %n17, %latch14 ]
  %v18 = icmp slt i64 %i16, %v11
  br i1 %v18, label %body13, label %done15
body13:
  %v19 = sub i64 %v11, %i16
  %v20 = call i64 @llvm.umin.i64(i64 %v19, i64 16)
  %v21 = trunc i64 %v20 to i32
  %v22 = insertelement <8 x i32> poison, i32 %v21, i64 0
  %v23 = shufflevector <8 x i32> %v22, <8 x i32> poison, <8 x i32> zeroinitializer
  %v24 = icmp ult <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %v23
  %v25 = icmp ult <8 x i32> <i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %v23
  %v26 = trunc i64 %i16 to i32
  store <8 x i32> zeroinitializer, ptr %s27, align 64
  store <8 x i32> zeroinitializer, ptr %s28, align 64
  store <8 x i32> splat (i32 0), ptr %s27, align 4
  store <8 x i32> splat (i32 0), ptr %s28, align 4
  %v29 = insertelement <8 x i32> poison, i32 %v26, i64 0
  %v30 = shufflevector <8 x i32> %v29, <8 x i32> poison, <8 x i32> zeroinitializer
  %v31 = add <8 x i32> %v30, <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %v32 = and <8 x i32> %v31, splat (i32 3)
  %v33 = insertelement <8 x i32> poison, i32 %v26, i64 0
  %v34 = shufflevector <8 x i32> %v33, <8 x i32> poison, <8 x i32> zeroinitializer
  %v35 = add <8 x i32> %v34, <i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %v36 = and <8 x i32> %v35, splat (i32 3)
  store <8 x i32> %v32, ptr %s41, align 64
  store <8 x i32> %v36, ptr %s42, align 64
  %v43 = insertelement <8 x i32> poison, i32 %v6, i64 0
  %v44 = shufflevector <8 x i32> %v43, <8 x i32> poison, <8 x i32> zeroinitializer
  %v45 = call <8 x i32> @llvm.ssub.sat.v8i32(<8 x i32> %v44, <8 x i32> splat (i32 5))
  %v46 = insertelement <8 x i32> poison, i32 %v6, i64 0
  %v47 = shufflevector <8 x i32> %v46, <8 x i32> poison, <8 x i32> zeroinitializer
  %v48 = call <8 x i32> @llvm.ssub.sat.v8i32(<8 x i32> %v47, <8 x i32> splat (i32 5))
  store <8 x i1> %v24, ptr %s49, align 8
  store <8 x i1> %v25, ptr %s50, align 8
  store <8 x i1> %v24, ptr %s51, align 8
  store <8 x i1> %v25, ptr %s52, align 8
  br label %head37
head37:
  %v53 = load <8 x i32>, ptr %s41, align 64
  %v54 = load <8 x i32>, ptr %s42, align 64
  %v55 = insertelement <8 x i32> poison, i32 %v6, i64 0
  %v56 = shufflevector <8 x i32> %v55, <8 x i32> poison, <8 x i32> zeroinitializer
  %v57 = icmp slt <8 x i32> %v53, %v56
  %v58 = insertelement <8 x i32> poison, i32 %v6, i64 0
  %v59 = shufflevector <8 x i32> %v58, <8 x i32> poison, <8 x i32> zeroinitializer
  %v60 = icmp slt <8 x i32> %v54, %v59
  %v61 = load <8 x i1>, ptr %s49, align 8
  %v62 = load <8 x i1>, ptr %s50, align 8
  %v63 = and <8 x i1> %v61, %v57
  %v64 = and <8 x i1> %v62, %v60
  store <8 x i1> %v63, ptr %s49, align 8
  store <8 x i1> %v64, ptr %s50, align 8
  store <8 x i1> %v63, ptr %s51, align 8
  store <8 x i1> %v64, ptr %s52, align 8
  %v65 = or <8 x i1> %v63, %v64
  %v66 = bitcast <8 x i1> %v65 to i8
  %v67 = icmp ne i8 %v66, 0
  br i1 %v67, label %body38, label %done40
body38:
  %v68 = mul <8 x i32> %v53, %v53
  %v69 = mul <8 x i32> %v54, %v54
  %v70 = load <8 x i32>, ptr %s27, align 4
  %v71 = load <8 x i32>, ptr %s28, align 4
  %v72 = add <8 x i32> %v70, %v68
  %v73 = add <8 x i32> %v71, %v69
  %v74 = load <8 x i32>, ptr %s27, align 4
  %v75 = select <8 x i1> %v63, <8 x i32> %v72, <8 x i32> %v74
  store <8 x i32> %v75, ptr %s27, align 4
  %v76 = load <8 x i32>, ptr %s28, align 4
  %v77 = select <8 x i1> %v64, <8 x i32> %v73, <8 x i32> %v76
  store <8 x i32> %v77, ptr %s28, align 4
  br label %latch39
latch39:
  %v78 = icmp slt <8 x i32> %v53, %v45
  %v79 = icmp slt <8 x i32> %v54, %v48
  %v80 = load <8 x i1>, ptr %s49, align 8
  %v81 = load <8 x i1>, ptr %s50, align 8
  %v82 = and <8 x i1> %v80, %v78
  %v83 = and <8 x i1> %v81, %v79
  store <8 x i1> %v82, ptr %s49, align 8
  store <8 x i1> %v83, ptr %s50, align 8
  %v84 = add <8 x i32> %v53, splat (i32 5)
  store <8 x i32> %v84, ptr %s41, align 64
  %v85 = add <8 x i32> %v54, splat (i32 5)
  store <8 x i32> %v85, ptr %s42, align 64
  br label %head37
done40:
  %v86 = load <8 x i32>, ptr %s27, align 4
  %v87 = load <8 x i32>, ptr %s28, align 4
  %v88 = mul i64 %i16, 4
  %v89 = getelementptr i8, ptr %v4, i64 %v88
  call void @llvm.masked.store.v8i32.p0(<8 x i32> %v86, ptr align 4 %v89, <8 x i1> %v24), !alias.scope !2, !noalias !3
  %v90 = getelementptr i8, ptr %v89, i64 32
  call void @llvm.masked.store.v8i32.p0(<8 x i32> %v87, ptr align 4 %v90, <8 x i1> %v25), !alias.scope !2, !noalias !3
  br label %latch14
latch14:
  %n17 = add nsw i64 %i16, 16
  br label %head12
done15:
  br label %exit
exit:
  ret void
}

define void @weft_entry(ptr noalias %ctx) nounwind "reciprocal-estimates"="none" {
entry:
  %s3 = alloca [2 x i64], align 8
  br label %start
start:
  %v1 = getelementptr inbounds i8, ptr %ctx, i64 40
  %v2 = load i64, ptr %v1, align 8, !invariant.load !{}
  %v4 = getelementptr inbounds i8, ptr %s3, i64 0
  store i64 0, ptr %v4, align 8
  %v5 = getelementptr inbounds i8, ptr %s3, i64 8
  store i64 %v2, ptr %v5, align 8
  %v6 = sub nsw i64 %v2, 0
  %v7 = call i64 @llvm.smax.i64(i64 %v6, i64 0)
  %v8 = add i64 %v7, 15
  %v9 = udiv i64 %v8, 16
  %v10 = mul nsw i64 16, 26
  %v11 = call i64 @llvm.smax.i64(i64 %v10, i64 1)
  %v12 = udiv i64 40000, %v11
  %v13 = add i64 %v12, 1
  %v14 = icmp sle i64 %v9, %v13
  br i1 %v14, label %here15, label %shared16
here15:
  call void @weft_task0(ptr %ctx, ptr %s3, i64 0, i64 %v9)
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
  call void %v25(i64 %v21, ptr @weft_task0, ptr %ctx, ptr %s3, i64 %v9, i64 %v13)
  br label %done17
done17:
  br label %exit
exit:
  ret void
}

!0 = distinct !{!"fields"}
!1 = distinct !{!"array:1", !0}
!2 = !{!1}
!3 = !{}
