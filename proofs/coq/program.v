(** * The pruning program of the papers (IP3 / IP), its relaxation, and prunings

    Definitions only: this file and the first page of forest.v are what a reader has to trust.
    IP3 is the program of "Optimally Pruning Decision Tree Ensembles With Feature Cost", section 4; IP is the
    same program, with the computation cost of splits, in "Pruning Random Forests for Prediction on a
    Budget", section 3.  Numbers are taken in an arbitrary ordered field R: the rationals, the reals. *)

Set Warnings "-notation-overridden,-ambiguous-paths".
From mathcomp Require Import all_ssreflect all_algebra.
From IpForest Require Import forest.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Section Programme.

Variable R : realFieldType.

(** ** Data *)

Record instance := Instance {
  trees : forest;
  units : nat;                                   (* K, the features (or sensors) k = 0, ..., K - 1 *)
  examples : nat;                                (* N_c, the examples i that pay for acquisitions *)
  error_examples : nat;                          (* N_e, the examples that errors are counted on *)
  asks : nat;                                    (* T in print, one for each tree; delays.v has one for each node *)
  first_use : nat -> nat -> nat -> option nat;   (* u_{t,k,i}: where example i first needs unit k in tree t *)
  error : nat -> R;                              (* e_h *)
  price : nat -> R;                              (* c_k *)
  visits : nat -> R;                             (* |S_h|, in the cost of splits *)
  split_price : R                                (* the price of one split for one example; IP3 has 0, IP has 1 *)
}.

Variable I : instance.

Local Notation F := (trees I).
Local Notation T := (size F).
Local Notation J := (asks I).
Local Notation K := (units I).
Local Notation N := (examples I).
Local Notation p := (path_to F).

(** Nodes are numbered apart, units are needed where a tree splits, prices are not negative.  Errors, and the cost
    of splits, may have any sign; the routing may be any at all, and each number t < [asks] stands for at most one node. *)
Record well_formed : Prop := WellFormed {
  distinct_nodes : uniq (nodes F);
  first_use_internal : forall t k i u, (t < J)%N -> (k < K)%N -> (i < N)%N ->
    first_use I t k i = Some u -> u \in internal_nodes F;
  price_nonnegative : forall k, (k < K)%N -> 0 <= price I k
}.

(** ** Variables *)

Record point := Point {
  z : nat -> R;                      (* z_h: node h is a leaf of the pruned forest *)
  w_tree : nat -> nat -> nat -> R;   (* w^(t)_{k,i}: example i uses unit k in tree t *)
  w : nat -> nat -> R                (* w_{k,i}: example i uses unit k in some tree *)
}.

(** All variables of the program have the property [P]. *)
Definition every (P : pred R) (s : point) : Prop :=
  [/\ forall h, h \in nodes F -> P (z s h),
      forall t k i, (t < J)%N -> (k < K)%N -> (i < N)%N -> P (w_tree s t k i)
    & forall k i, (k < K)%N -> (i < N)%N -> P (w s k i)].

Definition nonnegative := every (fun v => 0 <= v).
Definition in_unit_box := every (fun v => 0 <= v <= 1).
Definition binary := every (fun v => (v == 0) || (v == 1)).

(** ** Constraints *)

Record constraints (s : point) : Prop := Constraints {
  one_leaf_per_path : forall h, h \in leaves F -> \sum_(u <- p h) z s u = 1;
  usage_in_tree : forall t k i u, (t < J)%N -> (k < K)%N -> (i < N)%N -> first_use I t k i = Some u ->
    w_tree s t k i + \sum_(h <- p u) z s h = 1;
  usage_shared : forall t k i, (t < J)%N -> (k < K)%N -> (i < N)%N -> w_tree s t k i <= w s k i
}.

(** The 0-1 program, its relaxation to [0, 1], and the weaker relaxation without upper bounds. *)
Definition feasible_01 s := constraints s /\ binary s.
Definition feasible_box s := constraints s /\ in_unit_box s.
Definition feasible s := constraints s /\ nonnegative s.

(** ** Objective *)

Definition errors (s : point) : R := \sum_(h <- nodes F) error I h * z s h.

Definition costs (s : point) : R :=
  \sum_(k < K) price I k * (\sum_(i < N) w s k i)
  + split_price I * (\sum_(h <- nodes F) visits I h * (depth F h)%:R * z s h).

(** 1/(N_e T) sum e_h z_h + lambda * 1/N_c * (sum c_k w_{k,i} + split price * sum |S_h| d_h z_h) *)
Definition objective (lambda : R) (s : point) : R :=
  (error_examples I * T)%:R^-1 * errors s + lambda * (N%:R^-1 * costs s).

(** ** Prunings

    A pruning keeps a set of internal nodes with every node above them. *)

Record pruning (kept : pred nat) : Prop := Pruning {
  kept_internal : forall h, h \in leaves F -> ~~ kept h;
  kept_upwards : forall h, h \in nodes F -> kept h -> all kept (p h)
}.

(** Some tree needs unit k for example i at a kept node. *)
Definition acquired (kept : pred nat) k i : bool :=
  [exists t : 'I_J, if first_use I t k i is Some u then kept u else false].

(** Node h is a leaf of the pruned forest when it is the one node of p(h) that is not kept. *)
Definition point_of (kept : pred nat) : point := {|
  z := fun h => ([seq u <- p h | ~~ kept u] == [:: h])%:R;
  w_tree := fun t k i => if first_use I t k i is Some u then (kept u)%:R else 0;
  w := fun k i => (acquired kept k i)%:R
|}.

End Programme.

(** ** Figure 1 as data: one example, which goes to the leaves 4 and 11, and one unit a feature

    Tree 1 splits on feature 1 at node 1 and on feature 2 at node 3, tree 2 on feature 2 at node 6 and on feature 3 at
    node 10. *)

Definition figure1_instance (R : realFieldType) (e : nat -> R) : instance R := {|
  trees := figure1; asks := 2; units := 4; examples := 1; error_examples := 1;
  first_use := fun t k _ => match t, k with
    | 0, 1 => Some 1 | 0, 2 => Some 3 | 1, 2 => Some 6 | 1, 3 => Some 10 | _, _ => None end%N;
  error := e; price := fun=> 1; visits := fun=> 0; split_price := 0
|}.

Example figure1_well_formed (R : realFieldType) (e : nat -> R) : well_formed (figure1_instance e).
Proof.
split=> [//|t k i u _ _ _|k _]; last exact: ler01.
by case: t k => [|[|t]] [|[|[|[|k]]]] //= -[<-].
Qed.
