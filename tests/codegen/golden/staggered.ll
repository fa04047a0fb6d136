; a golden module


declare i64 @llvm.smax.i64(i64, i64)
declare i64 @llvm.smin.i64(i64, i64)
declare i64 @llvm.umin.i64(i64, i64)
declare <16 x i32> @llvm.ssub.sat.v16i32(<16 x i32>, <16 x i32>)
declare void @llvm.masked.store.v16i32.p0(<16 x i32>, ptr, <16 x i1>)

define internal void @weft_task0(ptr noalias %ctx, ptr noalias %box, i64 %begin, i64 %end) noinline nounwind "reciprocal-estimates"="none" {
entry:
  %s26 = alloca <16 x i32>, align 64
  %s35 = alloca <16 x i32>, align 64
  %s39 = alloca <16 x i1>, align 8
  %s40 = alloca <16 x i1>, align 8
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
  %v22 = insertelement <16 x i32> poison, i32 %v21, i64 0
  %v23 = shufflevector <16 x i32> %v22, <16 x i32> poison, <16 x i32> zeroinitializer
  %v24 = icmp ult <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %v23
  %v25 = trunc i64 %i16 to i32
  store <16 x i32> zeroinitializer, ptr %s26, align 64
  store <16 x i32> splat (i32 0), ptr %s26, align 4
  %v27 = insertelement <16 x i32> poison, i32 %v25, i64 0
  %v28 = shufflevector <16 x i32> %v27, <16 x i32> poison, <16 x i32> zeroinitializer
  %v29 = add <16 x i32> %v28, <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %v30 = and <16 x i32> %v29, splat (i32 3)
  store <16 x i32> %v30, ptr %s35, align 64
  %v36 = insertelement <16 x i32> poison, i32 %v6, i64 0
  %v37 = shufflevector <16 x i32> %v36, <16 x i32> poison, <16 x i32> zeroinitializer
  %v38 = call <16 x i32> @llvm.ssub.sat.v16i32(<16 x i32> %v37, <16 x i32> splat (i32 5))
  store <16 x i1> %v24, ptr %s39, align 8
  br label %head31
head31:
  %v41 = load <16 x i32>, ptr %s35, align 64
  %v42 = insertelement <16 x i32> poison, i32 %v6, i64 0
  %v43 = shufflevector <16 x i32> %v42, <16 x i32> poison, <16 x i32> zeroinitializer
  %v44 = icmp slt <16 x i32> %v41, %v43
  %v45 = load <16 x i1>, ptr %s39, align 8
  %v46 = and <16 x i1> %v45, %v44
  store <16 x i1> %v46, ptr %s39, align 8
  store <16 x i1> %v46, ptr %s40, align 8
  %v47 = bitcast <16 x i1> %v46 to i16
  %v48 = icmp ne i16 %v47, 0
  br i1 %v48, label %body32, label %done34
body32:
  %v49 = mul <16 x i32> %v41, %v41
  %v50 = load <16 x i32>, ptr %s26, align 4
  %v51 = add <16 x i32> %v50, %v49
  %v52 = load <16 x i32>, ptr %s26, align 4
  %v53 = select <16 x i1> %v46, <16 x i32> %v51, <16 x i32> %v52
  store <16 x i32> %v53, ptr %s26, align 4
  br label %latch33
latch33:
  %v54 = icmp slt <16 x i32> %v41, %v38
  %v55 = load <16 x i1>, ptr %s39, align 8
  %v56 = and <16 x i1> %v55, %v54
  store <16 x i1> %v56, ptr %s39, align 8
  %v57 = add <16 x i32> %v41, splat (i32 5)
  store <16 x i32> %v57, ptr %s35, align 64
  br label %head31
done34:
  %v58 = load <16 x i32>, ptr %s26, align 4
  %v59 = mul i64 %i16, 4
  %v60 = getelementptr i8, ptr %v4, i64 %v59
  call void @llvm.masked.store.v16i32.p0(<16 x i32> %v58, ptr align 4 %v60, <16 x i1> %v24), !alias.scope !2, !noalias !3
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
