"""What the environment variables that recipes set do, in our own words."""

from __future__ import annotations

VARIABLES: dict[str, str] = {
    "CUDA_VISIBLE_DEVICES": "The GPUs of the node that this process sees.",
    "GLOO_SOCKET_IFNAME": "Network interface on which the ranks of several nodes find each other.",
    "MOONCAKE_CONFIG_PATH": "File from which Mooncake's client reads addresses and sizes.",
    "NCCL_CUMEM_ENABLE": "Whether NCCL takes memory by CUDA's virtual memory functions.",
    "NCCL_IB_DISABLE": "Whether NCCL leaves InfiniBand alone.",
    "NCCL_IB_HCA": "The InfiniBand adapters that NCCL uses.",
    "NCCL_MNNVL_ENABLE": "Whether NCCL uses NVLink between nodes.",
    "NCCL_NVLS_ENABLE": "Whether NCCL reduces inside the NVLink switches.",
    "NCCL_SOCKET_IFNAME": "Network interface on which NCCL's ranks of several nodes connect.",
    "PYTHONHASHSEED": "Makes Python's hashes equal in all processes, so that they agree on the keys"
    " of cached blocks.",
    "PYTHONNOUSERSITE": "Keeps packages of the user's home folder out of Python's path.",
    "PYTORCH_CUDA_ALLOC_CONF": "Settings of PyTorch's memory allocator.",
    "SAFETENSORS_FAST_GPU": "Whether weights are read straight onto the GPU.",
    "TP_SOCKET_IFNAME": "Network interface of PyTorch's TensorPipe.",
    "UCX_NET_DEVICES": "Network devices of UCX, which carries NIXL's transfers.",
    "UCX_TLS": "Transports that UCX may use.",
    "VLLM_ALLOW_LONG_MAX_MODEL_LEN": "Allows a context longer than the checkpoint's config says.",
    "VLLM_ALLREDUCE_USE_FLASHINFER": "Whether FlashInfer's all-reduce is used.",
    "VLLM_ATTENTION_BACKEND": "Which attention kernels are used.",
    "VLLM_BLOCKSCALE_FP8_GEMM_FLASHINFER": "Whether FlashInfer multiplies FP8 matrices that are"
    " scaled in blocks.",
    "VLLM_CPU_KVCACHE_SPACE": "GiB of main memory for the KV cache.",
    "VLLM_DEEP_GEMM_WARMUP": "How much of DeepGEMM is compiled before the first request.",
    "VLLM_DISABLE_COMPILE_CACHE": "Whether each start compiles anew.",
    "VLLM_ENGINE_READY_TIMEOUT_S": "Seconds that the server waits for its engine to load.",
    "VLLM_EXECUTE_MODEL_TIMEOUT_SECONDS": "Seconds that one step may take on the workers.",
    "VLLM_FLASHINFER_ALLREDUCE_BACKEND": "Which of FlashInfer's all-reduces is used.",
    "VLLM_FLASHINFER_MOE_BACKEND": "Which of FlashInfer's expert kernels are used: for latency or"
    " for throughput.",
    "VLLM_FLOAT32_MATMUL_PRECISION": "Precision of 32-bit matrix products.",
    "VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS": "Whether memory of CUDA graphs is put aside before"
    " the KV cache gets the rest.",
    "VLLM_NIXL_SIDE_CHANNEL_HOST": "Address at which other engines ask NIXL where blocks lie.",
    "VLLM_NIXL_SIDE_CHANNEL_PORT": "Port at which other engines ask NIXL where blocks lie.",
    "VLLM_ROCM_QUICK_REDUCE_QUANTIZATION": "Number format of AMD's quick all-reduce: fewer bits,"
    " less traffic.",
    "VLLM_ROCM_SHUFFLE_KV_CACHE_LAYOUT": "Whether the KV cache lies as AITER's attention reads it.",
    "VLLM_ROCM_USE_AITER": "Whether AMD's AITER kernels are used.",
    "VLLM_ROCM_USE_AITER_FUSION_SHARED_EXPERTS": "Whether AITER runs shared experts together with"
    " the routed ones.",
    "VLLM_ROCM_USE_AITER_LINEAR": "Whether AITER runs the linear layers.",
    "VLLM_ROCM_USE_AITER_MHA": "Whether AITER runs multi-head attention.",
    "VLLM_ROCM_USE_AITER_MOE": "Whether AITER runs the experts.",
    "VLLM_ROCM_USE_AITER_RMSNORM": "Whether AITER runs the norms.",
    "VLLM_RPC_TIMEOUT": "Milliseconds that the server waits for an answer of its engine.",
    "VLLM_SSM_CONV_STATE_LAYOUT": "Order of the dimensions in the states of Mamba's convolutions.",
    "VLLM_USE_DEEP_GEMM": "Whether DeepGEMM's FP8 kernels are used.",
    "VLLM_USE_FLASHINFER_MOE_FP4": "Whether FlashInfer runs FP4 experts.",
    "VLLM_USE_FLASHINFER_MOE_FP8": "Whether FlashInfer runs FP8 experts.",
    "VLLM_USE_FLASHINFER_SAMPLER": "Whether FlashInfer draws the tokens.",
    "VLLM_USE_RUST_FRONTEND": "Whether the HTTP server that is written in Rust takes requests.",
    "VLLM_USE_V2_MODEL_RUNNER": "Whether vLLM's second model runner carries out the steps.",
    "VLLM_VIDEO_LOADER_BACKEND": "Which library decodes videos.",
    "VLLM_WORKER_MULTIPROC_METHOD": "How worker processes are started: fork or spawn.",
}
"""By name; one sentence each. A variable that is not here has no words, which is no judgement."""
