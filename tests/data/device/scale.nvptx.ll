source_filename = "scale.cu"
target datalayout = "e-i64:64-i128:128-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

@table = internal addrspace(1) constant [4 x float] [float 1.0, float 2.0, float 3.0, float 4.0]

declare float @curve(float)

define internal float @half(float %x) #0 {
  %y = fmul float %x, 5.000000e-01
  ret float %y
}

define float @twice(float %x) #0 {
  %y = call float @half(float %x)
  %z = fmul float %y, 4.000000e+00
  ret float %z
}

define void @scale(ptr %p, float %a) #0 {
  %v = load float, ptr %p
  %w = call float @twice(float %v)
  %c = call float @curve(float %w)
  %r = fmul float %c, %a
  store float %r, ptr %p
  ret void
}

define ptx_kernel void @shift(ptr %p) #0 {
  store float 1.0, ptr %p
  ret void
}

attributes #0 = { "target-cpu"="sm_90" "target-features"="+ptx80,+sm_90" }

!nvvm.annotations = !{!0, !1}
!llvm.ident = !{!2}
!nvvmir.version = !{!3}
!0 = !{ptr @scale, !"maxntidx", i32 128, !"kernel", i32 1}
!1 = !{ptr @twice, !"align", i32 4}
!2 = !{!"clang version 19.1.7"}
!3 = !{i32 2, i32 0}
