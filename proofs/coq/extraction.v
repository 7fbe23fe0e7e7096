(** The checkers as OCaml: integers stay Coq's binary ones, so that there is no overflow to think about. *)

From Coq Require Import Extraction ExtrOcamlBasic.
From IpForest Require Import checker certificate_files without_stack.

Extraction Language OCaml.
Extraction "extracted.ml" run_pruning_file run_path_file.
