"""What the most used flags do to the layout and to GPU memory, in our own words."""

from __future__ import annotations

from typing import NamedTuple


class Effect(NamedTuple):
    """What a flag changes."""

    topic: str
    """``layout``, ``memory``, ``speed``, ``model``, ``chat``, ``network``, ``node`` or ``log``."""
    text: str
    """One sentence."""


EFFECTS: dict[str, Effect] = {
    name: Effect(topic, text)
    for name, topic, text in (
        ("--tensor-parallel-size", "layout", "Cuts every layer over this many GPUs: weights and "
         "KV heads per GPU shrink, each layer ends in an all-reduce."),
        ("--pipeline-parallel-size", "layout", "Gives each of this many stages a run of layers: "
         "weights and KV cache per GPU shrink, little traffic between stages."),
        ("--data-parallel-size", "layout", "Runs this many engine ranks, each with attention "
         "weights and a KV cache of its own; experts are shared out over all ranks."),
        ("--data-parallel-size-local", "layout", "How many of the data-parallel ranks run on this "
         "node."),
        ("--data-parallel-start-rank", "layout", "The first data-parallel rank of this node."),
        ("--data-parallel-rank", "layout", "The one data-parallel rank that this process is."),
        ("--data-parallel-address", "network", "Where the ranks meet: the first node's address."),
        ("--data-parallel-rpc-port", "network", "Port on which the ranks meet."),
        ("--data-parallel-backend", "layout", "How ranks on other nodes are started: processes of "
         "your own, or Ray."),
        ("--data-parallel-hybrid-lb", "network", "Each node takes requests for its own ranks; a "
         "balancer stands in front of the nodes."),
        ("--data-parallel-external-lb", "network", "Each rank takes requests itself; a balancer "
         "stands in front of the ranks."),
        ("--enable-expert-parallel", "layout", "Spreads whole experts over all TP × DP ranks in "
         "place of cutting each one."),
        ("--enable-eplb", "memory", "Copies busy experts to even out the load; redundant experts "
         "take memory."),
        ("--eplb-config", "memory", "How experts are balanced; redundant experts take memory."),
        ("--enable-ep-weight-filter", "speed", "Each rank loads only the experts that it keeps."),
        ("--all2all-backend", "speed", "How tokens travel to their experts and back."),
        ("--enable-dbo", "speed", "Overlaps the traffic of one half of a batch with the work of "
         "the other."),
        ("--decode-context-parallel-size", "layout", "Splits the KV cache of each sequence over "
         "this many ranks of the TP group, so that less is kept twice."),
        ("--prefill-context-parallel-size", "layout", "Splits long prompts over this many ranks."),
        ("--nnodes", "layout", "How many nodes make up this one engine."),
        ("--node-rank", "layout", "Which of these nodes this one is; 0 is the head."),
        ("--master-addr", "network", "Address of the head node."),
        ("--master-port", "network", "Port on which the head node waits for the others."),
        ("--headless", "node", "Runs engine ranks without an HTTP server: a worker node."),
        ("--api-server-count", "node", "How many HTTP server processes feed the engine."),
        ("--distributed-executor-backend", "layout", "What starts the workers: processes or Ray."),
        ("--gpu-memory-utilization", "memory", "Share of each GPU's memory that the engine may "
         "fill; what weights and activations leave of it is KV cache."),
        ("--kv-cache-memory-bytes", "memory", "Size of the KV cache per GPU, in place of the share "
         "of --gpu-memory-utilization."),
        ("--max-model-len", "memory", "Longest prompt and answer together, in tokens; one such "
         "sequence must fit in the KV cache. auto takes what fits."),
        ("--max-num-seqs", "memory", "Most sequences in one batch: sizes buffers, CUDA graphs and "
         "the states of Mamba layers."),
        ("--max-num-batched-tokens", "memory", "Most tokens in one step: sizes the activations, "
         "hence what is left for KV cache."),
        ("--kv-cache-dtype", "memory", "Number format of the KV cache: fp8 halves it against "
         "16 bits."),
        ("--dtype", "memory", "Number format of weights that are not quantized, and of "
         "activations."),
        ("--quantization", "memory", "How the weights are, or get, quantized."),
        ("--cpu-offload-gb", "memory", "GiB of weights per GPU that stay in host memory: room for "
         "KV cache, slower steps."),
        ("--block-size", "memory", "Tokens per page of the KV cache."),
        ("--kv-cache-dtype-skip-layers", "memory", "Layers whose KV cache keeps its own format."),
        ("--enable-prefix-caching", "memory", "Keeps the pages of earlier prompts for reuse while "
         "there is room."),
        ("--kv-offloading-size", "memory", "GiB of host memory, over all ranks, that takes KV "
         "cache pages."),
        ("--kv-offloading-backend", "memory", "What moves KV cache pages to the host."),
        ("--kv-transfer-config", "memory", "Moves KV cache between engines or to a store: the "
         "connector, and whether this engine gives, takes or both."),
        ("--mamba-ssm-cache-dtype", "memory", "Number format of the Mamba states."),
        ("--mamba-cache-dtype", "memory", "Number format of the Mamba cache."),
        ("--mamba-block-size", "memory", "Tokens per page of the Mamba cache."),
        ("--disable-hybrid-kv-cache-manager", "memory", "Gives sliding-window layers pages for the "
         "whole context, as if they were full-attention ones."),
        ("--enforce-eager", "speed", "No CUDA graphs and no compilation: quick start, less memory, "
         "slow decode."),
        ("--compilation-config", "speed", "What is compiled, and which CUDA graphs are captured."),
        ("--optimization-level", "speed", "How much start time is spent on compilation."),
        ("--cudagraph-capture-sizes", "memory", "Batch sizes that get a CUDA graph; each takes "
         "some memory."),
        ("--max-cudagraph-capture-size", "memory", "Largest batch that gets a CUDA graph."),
        ("--attention-backend", "speed", "Which attention kernels run."),
        ("--attention-config", "speed", "Details of the attention kernels."),
        ("--moe-backend", "speed", "Which kernels run the experts."),
        ("--linear-backend", "speed", "Which kernels run the dense layers."),
        ("--kernel-config", "speed", "Choice and tuning of kernels."),
        ("--enable-flashinfer-autotune", "speed", "Tries FlashInfer kernels at start and keeps the "
         "quickest."),
        ("--async-scheduling", "speed", "Plans the next step while the GPU works on this one."),
        ("--enable-chunked-prefill", "speed", "Cuts long prompts so that decode goes on between "
         "the pieces."),
        ("--stream-interval", "speed", "Tokens that are gathered before they are sent."),
        ("--disable-custom-all-reduce", "speed", "Leaves all-reduce to NCCL."),
        ("--speculative-config", "memory", "Guesses tokens ahead and checks them together: the "
         "draft model or heads take memory, and each guess takes a slot."),
        ("--load-format", "speed", "How the weights are read from disk."),
        ("--model-loader-extra-config", "speed", "Details of reading the weights."),
        ("--safetensors-load-strategy", "speed", "How safetensors files are read."),
        ("--trust-remote-code", "model", "Runs Python code that comes with the checkpoint."),
        ("--revision", "model", "Which commit or tag of the checkpoint."),
        ("--tokenizer", "model", "A tokenizer from elsewhere."),
        ("--tokenizer-mode", "model", "Which tokenizer code reads the text."),
        ("--config-format", "model", "In which shape the model's configuration is read."),
        ("--hf-overrides", "model", "Replaces entries of the model's config.json."),
        ("--runner", "model", "Whether the model generates or pools."),
        ("--convert", "model", "Turns a generative model into one that embeds or classifies."),
        ("--model-impl", "model", "vLLM's own model code or that of Transformers."),
        ("--served-model-name", "network", "Names by which requests may ask for the model."),
        ("--language-model-only", "memory", "Leaves out the encoders of a multimodal model: room "
         "for KV cache, text only."),
        ("--limit-mm-per-prompt", "memory", "Most images, videos and sounds per prompt; 0 frees "
         "the memory of an encoder."),
        ("--mm-encoder-tp-mode", "memory", "data gives each GPU a whole vision encoder in place of "
         "a slice."),
        ("--mm-encoder-attn-backend", "speed", "Which attention kernels the encoder runs."),
        ("--mm-processor-cache-gb", "memory", "GiB of host memory per process for prepared "
         "images."),
        ("--mm-processor-cache-type", "memory", "Where prepared images are kept."),
        ("--mm-processor-kwargs", "model", "Settings of the image and sound processor."),
        ("--media-io-kwargs", "model", "How media files are decoded, such as frames per video."),
        ("--skip-mm-profiling", "memory", "Does not measure the encoder's memory at start: leave "
         "room for it yourself."),
        ("--allowed-local-media-path", "network", "Folder of this machine that requests may name."),
        ("--enable-auto-tool-choice", "chat", "Lets the model decide when to call a tool."),
        ("--tool-call-parser", "chat", "How tool calls are read out of the model's text."),
        ("--reasoning-parser", "chat", "How the thinking is told from the answer."),
        ("--reasoning-parser-plugin", "chat", "A Python file that adds a reasoning parser."),
        ("--tool-parser-plugin", "chat", "A Python file that adds a tool parser."),
        ("--chat-template", "chat", "A Jinja file that turns messages into a prompt."),
        ("--chat-template-content-format", "chat", "Shape in which the template gets contents."),
        ("--default-chat-template-kwargs", "chat", "Values that the template gets unless a request "
         "says otherwise."),
        ("--override-generation-config", "chat", "Sampling defaults of the server."),
        ("--generation-config", "chat", "Where sampling defaults come from."),
        ("--structured-outputs-config", "chat", "How answers are held to a grammar."),
        ("--enable-lora", "memory", "Makes room for adapters."),
        ("--lora-modules", "memory", "Adapters that are loaded at start."),
        ("--max-loras", "memory", "Adapters in one batch; each takes memory."),
        ("--max-lora-rank", "memory", "Largest rank of an adapter."),
        ("--host", "network", "Address on which the server listens."),
        ("--port", "network", "Port on which the server listens."),
        ("--api-key", "network", "Keys that a request must bring."),
        ("--uvicorn-log-level", "log", "How much the HTTP server logs."),
        ("--enable-log-requests", "log", "Logs every request."),
        ("--disable-log-stats", "log", "No statistics in the log."),
        ("--seed", "model", "Seed of the random numbers."),
        ("--config", "node", "A YAML file with more flags; the command line wins."),
        ("--omni", "model", "Starts vLLM-Omni, for models that make images, sound or video."),
        ("--middleware", "network", "An ASGI layer around the server; may be given again."),
        ("--logits-processors", "model", "Classes that change the scores of tokens before one is "
         "drawn."),
        ("--enable-sleep-mode", "memory", "Lets a running engine give its GPU memory back and take "
         "it again."),
        ("--video-pruning-rate", "speed", "Share of a video's tokens that are dropped before the "
         "language model."),
        ("--disable-cascade-attn", "speed", "Computes prefixes that requests share like all else."),
        ("--disable-log-requests", "log", "Writes no line to the log for each request."),
    )
}  # fmt: skip
"""By canonical flag name."""
ROUTER_FLAGS: dict[str, str] = {
    "--balance-abs-threshold": "Requests by which the busiest worker may exceed the idlest before"
    " load counts more than the cache.",
    "--balance-rel-threshold": "How many times as busy the busiest worker may be before load counts"
    " more than the cache.",
    "--cache-threshold": "Share of a prompt that a worker must hold for the request to go there.",
    "--decode": "Address of a server that writes answers.",
    "--host": "Address on which the router listens.",
    "--intra-node-data-parallel-size": "Data-parallel ranks behind each address.",
    "--policy": "How a server is chosen for a request.",
    "--port": "Port on which the router listens.",
    "--prefill": "Address of a server that reads prompts.",
    "--vllm-pd-disaggregation": "Sends each prompt to a prefill server, its answer to a decode"
    " server.",
    "--worker-startup-timeout-secs": "Seconds that the servers may take to answer.",
    "--worker-urls": "Addresses of the servers.",
}
"""What the flags of vllm-router do, by name."""
