; a golden module


declare i64 @llvm.smax.i64(i64, i64)
declare i64 @llvm.umin.i64(i64, i64)
declare void @llvm.masked.store.v16i32.p0(<16 x i32>, ptr, <16 x i1>)

define internal void @weft_task0(ptr noalias %ctx, ptr noalias %box, i64 %begin, i64 %end) noinline nounwind "reciprocal-estimates"="none" {
entry:
  %s30 = alloca <16 x float>, align 64
  %s31 = alloca <16 x i32>, align 64
  %s35 = alloca <16 x i1>, align 8
  %s36 = alloca <16 x i1>, align 8
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
  %v21 = insertelement <16 x i32> poison, i32 %v20, i64 0
  %v22 = shufflevector <16 x i32> %v21, <16 x i32> poison, <16 x i32> zeroinitializer
  %v23 = icmp ult <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %v22
  %v24 = trunc i64 %i15 to i32
  %v25 = insertelement <16 x i32> poison, i32 %v24, i64 0
  %v26 = shufflevector <16 x i32> %v25, <16 x i32> poison, <16 x i32> zeroinitializer
  %v27 = add <16 x i32> %v26, <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %v28 = sitofp <16 x i32> %v27 to <16 x float>
  %v29 = fmul reassoc arcp contract afn <16 x float> %v28, splat (float 0x3FA0000000000000)
  store <16 x float> zeroinitializer, ptr %s30, align 64
  store <16 x float> %v29, ptr %s30, align 4
  store <16 x i32> zeroinitializer, ptr %s31, align 64
  store <16 x i32> splat (i32 0), ptr %s31, align 4
  store <16 x i1> %v23, ptr %s35, align 8
  br label %while32
while32:
  %v37 = load <16 x i1>, ptr %s35, align 8
  store <16 x i1> %v37, ptr %s36, align 8
  %v38 = load <16 x float>, ptr %s30, align 4
  %v39 = fmul reassoc arcp contract afn <16 x float> %v38, %v38
  %v40 = load <16 x i32>, ptr %s31, align 4
  %v41 = fcmp olt <16 x float> %v39, splat (float 0x4010000000000000)
  %v42 = icmp slt <16 x i32> %v40, splat (i32 100)
  %v43 = and <16 x i1> %v41, %v42
  %v44 = and <16 x i1> %v37, %v43
  %v45 = xor <16 x i1> %v43, splat (i1 true)
  %v46 = and <16 x i1> %v37, %v45
  %v49 = load <16 x i1>, ptr %s35, align 8
  %v50 = xor <16 x i1> %v46, splat (i1 true)
  %v51 = and <16 x i1> %v49, %v50
  store <16 x i1> %v51, ptr %s35, align 8
  %v52 = load <16 x i1>, ptr %s36, align 8
  %v53 = xor <16 x i1> %v46, splat (i1 true)
  %v54 = and <16 x i1> %v52, %v53
  store <16 x i1> %v54, ptr %s36, align 8
  br label %after48
after48:
  %v55 = load <16 x i1>, ptr %s36, align 8
  %v56 = and <16 x i1> %v37, %v55
  %v58 = bitcast <16 x i1> %v56 to i16
  %v59 = icmp ne i16 %v58, 0
  br i1 %v59, label %still57, label %latch33
still57:
  %v60 = fadd reassoc arcp contract afn <16 x float> %v39, %v29
  store <16 x float> %v60, ptr %s30, align 4
  %v61 = add <16 x i32> %v40, splat (i32 1)
  %v62 = load <16 x i32>, ptr %s31, align 4
  %v63 = select <16 x i1> %v56, <16 x i32> %v61, <16 x i32> %v62
  store <16 x i32> %v63, ptr %s31, align 4
  br label %latch33
latch33:
  %v64 = load <16 x i1>, ptr %s35, align 8
  %v65 = bitcast <16 x i1> %v64 to i16
  %v66 = icmp ne i16 %v65, 0
  br i1 %v66, label %while32, label %done34
done34:
  %v67 = load <16 x i32>, ptr %s31, align 4
  %v68 = mul i64 %v10, 256
  %v69 = getelementptr i8, ptr %v2, i64 %v68
  %v70 = mul i64 %i15, 4
  %v71 = getelementptr i8, ptr %v69, i64 %v70
  call void @llvm.masked.store.v16i32.p0(<16 x i32> %v67, ptr align 4 %v71, <16 x i1> %v23), !alias.scope !4, !noalias !5
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
