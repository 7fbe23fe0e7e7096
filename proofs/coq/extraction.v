(** The checkers as OCaml: integers stay Coq's binary ones, so that there is no overflow to think about. *)

From Coq Require Import Extraction ExtrOcamlBasic.
From IpForest Require Import checker certificate_files.

Extraction Language OCaml.
Extraction "extracted.ml" check_pruning_file check_path_file.
