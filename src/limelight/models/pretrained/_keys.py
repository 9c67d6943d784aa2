"""What a configuration of Hugging Face's may say, key by key, and what is done about it.

A key is read, or the tensors show what it says, or it leaves the output of one image as it is. What
is none of these is refused: it may change the function, and no tensor would show it.
"""

from collections.abc import Collection, Mapping
from typing import Any

from limelight._core.errors import InputError

#: Read in `_configs`.
_READ = {
    "model_type", "num_attention_heads", "hidden_act", "layer_norm_eps",
    "image_size", "use_swiglu_ffn", "use_mean_pooling", "rope_theta", "rope_parameters",
}  # fmt: skip
#: Sizes and parts that the tensors show.
_SHOWN = {
    "hidden_size", "num_hidden_layers", "intermediate_size", "mlp_ratio", "patch_size",
    "num_channels", "qkv_bias", "query_bias", "key_bias", "value_bias", "proj_bias", "mlp_bias",
    "use_gated_mlp", "num_register_tokens", "use_absolute_position_embeddings",
    "use_relative_position_bias", "use_shared_relative_position_bias", "vision_use_head",
    "projection_dim", "num_labels", "vocab_size",
}  # fmt: skip
#: For training, for other tasks, for the shape of what is returned, or names.
_IDLE = {
    # How weights start, what is dropped or masked in training, losses.
    "initializer_range", "initializer_factor", "layer_scale_init_value", "layerscale_value",
    "hidden_dropout_prob", "attention_probs_dropout_prob", "attention_dropout", "dropout",
    "drop_path_rate", "classifier_dropout", "use_mask_token", "mask_ratio", "norm_pix_loss",
    "pos_embed_shift", "pos_embed_jitter", "pos_embed_rescale", "gradient_checkpointing",
    "logit_scale_init_value",
    # The pooler that nothing reads, decoders, segmentation, feature pyramids.
    "pooler_output_size", "pooler_act", "encoder_stride", "decoder_num_attention_heads",
    "decoder_hidden_size", "decoder_num_hidden_layers", "decoder_intermediate_size",
    "pool_scales", "use_auxiliary_head", "auxiliary_loss_weight", "auxiliary_channels",
    "auxiliary_num_convs", "auxiliary_concat_input", "semantic_loss_ignore_index", "add_fpn",
    "segmentation_indices", "out_indices", "out_features", "stage_names", "apply_layernorm",
    "reshape_hidden_states", "return_class_token",
    # Names, formats, versions.
    "_name_or_path", "_commit_hash", "name_or_path", "transformers_version", "torch_dtype",
    "dtype", "id2label", "label2id", "finetuning_task", "problem_type", "task_specific_params",
    "_num_labels", "loss_type", "architectures",
    "tokenizer_class", "prefix", "_attn_implementation", "_attn_implementation_autoset",
    "attn_implementation", "attn_implementation_autoset", "_experts_implementation",
    # What every configuration of earlier releases lists, most of it for text.
    "return_dict", "output_hidden_states", "output_attentions", "torchscript", "use_bfloat16",
    "tf_legacy_loss", "tie_word_embeddings", "chunk_size_feed_forward", "is_encoder_decoder",
    "is_decoder", "cross_attention_hidden_size", "tie_encoder_decoder", "max_length",
    "min_length", "do_sample", "early_stopping", "num_beams", "num_beam_groups",
    "diversity_penalty", "temperature", "top_k", "top_p", "typical_p", "repetition_penalty",
    "length_penalty", "no_repeat_ngram_size", "encoder_no_repeat_ngram_size", "bad_words_ids",
    "num_return_sequences", "output_scores", "return_dict_in_generate", "forced_bos_token_id",
    "forced_eos_token_id", "remove_invalid_values", "exponential_decay_length_penalty",
    "suppress_tokens", "begin_suppress_tokens", "bos_token_id", "pad_token_id", "eos_token_id",
    "sep_token_id", "decoder_start_token_id", "use_cache",
}  # fmt: skip
#: Nothing, or refused with this reason.
_EMPTY = {
    "pruned_heads": "heads were taken out of it",
    "quantization_config": "its weights are quantised",
    "auto_map": "code of its own computes it",
    "add_cross_attention": "it attends to another network",
}


def check_keys(config: Mapping[str, Any], source: str, more: Collection[str] = ()) -> None:
    """Refuse what a configuration says and nobody here knows.

    Args:
        config: The configuration.
        source: What to call it.
        more: Keys that are known beside those of ViTs.

    Raises:
        InputError: With the first such key.
    """
    for key, why in _EMPTY.items():
        if config.get(key):
            raise InputError(f"{source} says {key}: {why}", "such a network is not supported")
    known = _READ | _SHOWN | _IDLE | _EMPTY.keys() | set(more)
    strange = sorted(str(key) for key in config if key not in known and config[key] is not None)
    if strange:
        raise InputError(
            f"{source} says {strange[0][:60]!r}, and what that changes is not known here",
            "take it out of the file if the output does not depend on it",
        )


#: Parts of open_clip's image towers that are read, shown by tensors, or idle.
_TOWER = {
    "layers", "width", "head_width", "mlp_ratio", "patch_size", "image_size", "ls_init_value",
    "patch_dropout", "attentional_pool", "attn_pooler_queries", "attn_pooler_heads", "no_ln_pre",
    "pos_embed_type", "final_ln_after_pool", "pool_type", "output_tokens", "act_kwargs",
    "norm_kwargs", "timm_model_name", "timm_model_pretrained", "timm_pool", "timm_proj",
    "timm_proj_bias", "timm_drop", "timm_drop_path", "input_patchnorm",
}  # fmt: skip


def check_tower(vision: Mapping[str, Any], source: str) -> None:
    """The same for the image tower of open_clip's configuration."""
    strange = sorted(str(key) for key in vision.keys() - _TOWER if vision[key])
    if strange:
        raise InputError(
            f"{source} says {strange[0][:60]!r}, and what that changes is not known here",
            "such a network is not supported",
        )
