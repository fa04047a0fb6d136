; a golden module


declare i64 @llvm.smax.i64(i64, i64)
declare i64 @llvm.smin.i64(i64, i64)
declare i64 @llvm.umin.i64(i64, i64)
declare <8 x i32> @llvm.smax.v8i32(<8 x i32>, <8 x i32>)
declare void @llvm.masked.store.v8i32.p0(<8 x i32>, ptr, <8 x i1>)

define internal void @weft_task0(ptr noalias %ctx, ptr noalias %box, i64 %begin, i64 %end) noinline nounwind "reciprocal-estimates"="none" {
entry:
  %record.at = getelementptr inbounds i8, ptr %ctx, i64 8
  %record = load ptr, ptr %record.at, align 8, !invariant.load !{}
  %s50 = alloca <8 x i32>, align 64
  %s51 = alloca <8 x i32>, align 64
  %s60 = alloca <8 x i32>, align 64
  %s61 = alloca <8 x i32>, align 64
  %s70 = alloca <8 x i1>, align 64
  %s71 = alloca <8 x i1>, align 64
  %s74 = alloca i32, align 4
  br label %start
start:
  %v1 = getelementptr inbounds i8, ptr %box, i64 8
  %v2 = load i64, ptr %v1, align 8, !invariant.load !{}
  %v3 = getelementptr inbounds i8, ptr %ctx, i64 32
  %v4 = load ptr, ptr %v3, align 8, !invariant.load !{}
  %v5 = getelementptr inbounds i8, ptr %ctx, i64 24
  %v6 = load i32, ptr %v5, align 8, !invariant.load !{}
  %v8 = mul i64 %begin, 16
  %v9 = add i64 0, %v8
  %v10 = mul i64 %end, 16
  %v11 = add i64 0, %v10
  %v12 = call i64 @llvm.smin.i64(i64 %v11, i64 %v2)
  br label %stretch13
stretch13:
  %p17 = phi i64 [ %v9, %start ], [ %q18, %done34 ]
  %v19 = sub i64 %v12, %p17
  %v20 = icmp sgt i64 %v19, 256
  br i1 %v20, label %more14, label %inside15, !prof !0
more14:
  %v23 = load atomic i64, ptr %record monotonic, align 8, !alias.scope !5, !noalias !6
  %v24 = icmp eq i64 %v23, 0
  br i1 %v24, label %on22, label %ask21, !prof !1
ask21:
  %v25 = getelementptr inbounds i8, ptr %ctx, i64 0
  %v26 = load ptr, ptr %v25, align 8, !invariant.load !{}
  %v27 = getelementptr inbounds i8, ptr %v26, i64 56
  %v28 = load ptr, ptr %v27, align 8, !invariant.load !{}
  %v29 = call preserve_allcc zeroext i1 %v28(ptr %record) nounwind willreturn cold memory(inaccessiblemem: readwrite)
  br i1 %v29, label %exit, label %on22
on22:
  %v30 = add i64 %p17, 256
  br label %inside15
inside15:
  %q18 = phi i64 [ %v12, %stretch13 ], [ %v30, %on22 ]
  %v37 = icmp slt i64 %p17, %q18
  br i1 %v37, label %enter31, label %done34
enter31:
  br label %body32
body32:
  %i35 = phi i64 [ %p17, %enter31 ], [ %n36, %latch33 ]
  %v38 = sub i64 %q18, %i35
  %v39 = call i64 @llvm.umin.i64(i64 %v38, i64 16)
  %v40 = trunc i64 %v39 to i32
  %v41 = insertelement <8 x i32> poison, i32 %v40, i64 0
  %v42 = shufflevector <8 x i32> %v41, <8 x i32> poison, <8 x i32> zeroinitializer
  %v43 = icmp ult <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %v42
  %v44 = call i64 @llvm.umin.i64(i64 %v38, i64 16)
  %v45 = trunc i64 %v44 to i32
  %v46 = insertelement <8 x i32> poison, i32 %v45, i64 0
  %v47 = shufflevector <8 x i32> %v46, <8 x i32> poison, <8 x i32> zeroinitializer
  %v48 = icmp ult <8 x i32> <i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %v47
  %v49 = trunc i64 %i35 to i32
  store <8 x i32> splat (i32 0), ptr %s50, align 4
  store <8 x i32> splat (i32 0), ptr %s51, align 4
  store <8 x i32> splat (i32 0), ptr %s50, align 4
  store <8 x i32> splat (i32 0), ptr %s51, align 4
  %v52 = insertelement <8 x i32> poison, i32 %v49, i64 0
  %v53 = shufflevector <8 x i32> %v52, <8 x i32> poison, <8 x i32> zeroinitializer
  %v54 = add <8 x i32> %v53, <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %v55 = and <8 x i32> %v54, splat (i32 3)
  %v56 = insertelement <8 x i32> poison, i32 %v49, i64 0
  %v57 = shufflevector <8 x i32> %v56, <8 x i32> poison, <8 x i32> zeroinitializer
  %v58 = add <8 x i32> %v57, <i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %v59 = and <8 x i32> %v58, splat (i32 3)
  store <8 x i32> %v55, ptr %s60, align 4
  store <8 x i32> %v59, ptr %s61, align 4
  %v62 = insertelement <8 x i32> poison, i32 %v6, i64 0
  %v63 = shufflevector <8 x i32> %v62, <8 x i32> poison, <8 x i32> zeroinitializer
  %v64 = add <8 x i32> splat (i32 -2147483648), splat (i32 5)
  %v65 = call <8 x i32> @llvm.smax.v8i32(<8 x i32> %v63, <8 x i32> %v64)
  %v66 = sub <8 x i32> %v65, splat (i32 5)
  %v67 = add <8 x i32> splat (i32 -2147483648), splat (i32 5)
  %v68 = call <8 x i32> @llvm.smax.v8i32(<8 x i32> %v63, <8 x i32> %v67)
  %v69 = sub <8 x i32> %v68, splat (i32 5)
  store <8 x i1> %v43, ptr %s70, align 1
  store <8 x i1> %v48, ptr %s71, align 1
  store i32 1024, ptr %s74, align 4
  br label %while72
while72:
  %v76 = load <8 x i32>, ptr %s60, align 4
  %v77 = load <8 x i32>, ptr %s61, align 4
  %v78 = icmp slt <8 x i32> %v76, %v63
  %v79 = icmp slt <8 x i32> %v77, %v63
  %v80 = load <8 x i1>, ptr %s70, align 1
  %v81 = load <8 x i1>, ptr %s71, align 1
  %v82 = and <8 x i1> %v80, %v78
  %v83 = and <8 x i1> %v81, %v79
  store <8 x i1> %v82, ptr %s70, align 1
  store <8 x i1> %v83, ptr %s71, align 1
  %v84 = or <8 x i1> %v82, %v83
  %v85 = bitcast <8 x i1> %v84 to i8
  %v86 = icmp ne i8 %v85, 0
  br i1 %v86, label %then87, label %else88
then87:
  br label %done89
else88:
  br label %done73
done89:
  %v90 = mul <8 x i32> %v76, %v76
  %v91 = mul <8 x i32> %v77, %v77
  %v92 = load <8 x i32>, ptr %s50, align 4
  %v93 = load <8 x i32>, ptr %s51, align 4
  %v94 = add <8 x i32> %v92, %v90
  %v95 = add <8 x i32> %v93, %v91
  %v96 = load <8 x i32>, ptr %s50, align 4
  %v97 = select <8 x i1> %v82, <8 x i32> %v94, <8 x i32> %v96
  store <8 x i32> %v97, ptr %s50, align 4
  %v98 = load <8 x i32>, ptr %s51, align 4
  %v99 = select <8 x i1> %v83, <8 x i32> %v95, <8 x i32> %v98
  store <8 x i32> %v99, ptr %s51, align 4
  %v100 = icmp slt <8 x i32> %v76, %v66
  %v101 = icmp slt <8 x i32> %v77, %v69
  %v102 = load <8 x i1>, ptr %s70, align 1
  %v103 = load <8 x i1>, ptr %s71, align 1
  %v104 = and <8 x i1> %v102, %v100
  %v105 = and <8 x i1> %v103, %v101
  store <8 x i1> %v104, ptr %s70, align 1
  store <8 x i1> %v105, ptr %s71, align 1
  %v106 = add <8 x i32> %v76, splat (i32 5)
  store <8 x i32> %v106, ptr %s60, align 4
  %v107 = add <8 x i32> %v77, splat (i32 5)
  store <8 x i32> %v107, ptr %s61, align 4
  br label %check75
check75:
  %v110 = load i32, ptr %s74, align 4
  %v111 = sub i32 %v110, 1
  store i32 %v111, ptr %s74, align 4
  %v112 = icmp slt i32 %v111, 0
  br i1 %v112, label %now108, label %on109, !prof !0
now108:
  store i32 1024, ptr %s74, align 4
  %v115 = load atomic i64, ptr %record monotonic, align 8, !alias.scope !5, !noalias !6
  %v116 = icmp eq i64 %v115, 0
  br i1 %v116, label %on114, label %ask113, !prof !1
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
  br label %while72
done73:
  %v122 = load <8 x i32>, ptr %s50, align 4
  %v123 = load <8 x i32>, ptr %s51, align 4
  %v124 = mul i64 %i35, 4
  %v125 = getelementptr i8, ptr %v4, i64 %v124
  call void @llvm.masked.store.v8i32.p0(<8 x i32> %v122, ptr align 4 %v125, <8 x i1> %v43), !alias.scope !7, !noalias !8
  %v126 = getelementptr i8, ptr %v125, i64 32
  call void @llvm.masked.store.v8i32.p0(<8 x i32> %v123, ptr align 4 %v126, <8 x i1> %v48), !alias.scope !7, !noalias !8
  br label %latch33
latch33:
  %n36 = add nsw i64 %i35, 16
  %v127 = icmp ugt i64 %v38, 16
  br i1 %v127, label %body32, label %done34
done34:
  %v128 = icmp slt i64 %q18, %v12
  br i1 %v128, label %stretch13, label %done16, !prof !0
done16:
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

!0 = !{!"branch_weights", i32 1, i32 1000000}
!1 = !{!"branch_weights", i32 1000000, i32 1}
!2 = distinct !{!"fields"}
!3 = distinct !{!"record", !2}
!4 = distinct !{!"array:1", !2}
!5 = !{!3}
!6 = !{!4}
!7 = !{!4}
!8 = !{!3}
