(** * Vertices are integral (Hoffman and Kruskal), and what a budget changes

    A vertex of a polyhedron is the solution of as many of its constraints, taken as equations, as there are variables,
    if these determine it.  With a totally unimodular matrix and integers on the right, it is integral. *)

Set Warnings "-notation-overridden,-ambiguous-paths".
From mathcomp Require Import all_ssreflect all_algebra.
From IpForest Require Import forest program unimodularity.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Section Integers.

Variable R : realFieldType.

Definition integer (v : R) : Prop := exists z : int, v = z%:~R.

Lemma integer_nat n : integer n%:R.
Proof. by exists n%:Z; rewrite -pmulrn. Qed.

Lemma integerD u v : integer u -> integer v -> integer (u + v).
Proof. by move=> [y ->] [z ->]; exists (y + z); rewrite intrD. Qed.

Lemma integerM u v : integer u -> integer v -> integer (u * v).
Proof. by move=> [y ->] [z ->]; exists (y * z); rewrite intrM. Qed.

Lemma integer_sum I (r : seq I) (P : pred I) (F : I -> R) : (forall i, integer (F i)) -> integer (\sum_(i <- r | P i) F i).
Proof. by move=> F_integer; elim/big_rec: _ => [|i v _]; [exact: (integer_nat 0) | exact/integerD]. Qed.

Lemma integer_sign (v : R) : v \in [:: 0; 1; -1] -> integer v.
Proof. by rewrite !inE => /or3P[]/eqP->; [exists 0 | exists 1 | exists (-1)]; rewrite ?mulr0z ?mulr1z ?mulrN1z. Qed.

(** Hoffman and Kruskal 1956. *)
Theorem vertex_integral m n (A : 'M[R]_(m, n)) (b : 'cV[R]_m) : totally_unimodular A -> (forall i, integer (b i 0)) ->
  forall (f : 'I_n -> 'I_m) (x : 'cV[R]_n),
  \det (mxsub f id A) != 0 -> mxsub f id A *m x = mxsub f id b -> forall j, integer (x j 0).
Proof.
case: n A => [|n'] A A_tu b_integer f x; set B := mxsub f id A => det_B solution j; first by case: j.
have f_inj : injective f.
  move=> i i' f_ii'; apply/eqP/negPn/negP => i_i'; case/negP: det_B; apply/eqP.
  by apply: (determinant_alternate i_i') => l; rewrite !mxE f_ii'.
have unit_B : B \in unitmx by rewrite unitmxE unitfE.
have -> : x = invmx B *m mxsub f id b by rewrite -solution mulKmx.
have det_sign : integer (\det B)^-1.
  have := A_tu _ f id f_inj (@inj_id _); rewrite -/B !inE (negbTE det_B) /= => /orP[]/eqP->.
    by rewrite invr1; exact: (integer_nat 1).
  by rewrite invrN1; apply: integer_sign; rewrite !inE eqxx !orbT.
rewrite mxE; apply: integer_sum => i; apply: integerM; last by rewrite mxE.
rewrite /invmx unit_B mxE; apply: integerM => //; rewrite mxE; apply: integer_sign; apply: sign_values.
have -> : row' i (col' j B) = mxsub (f \o lift i) (lift j) A by apply/matrixP => ? ?; rewrite !mxE.
by apply: A_tu; [exact/inj_comp/lift_inj | exact: lift_inj].
Qed.

End Integers.

Section Programme.

Variables (R : realFieldType) (I : instance R).
Hypothesis well_formed_I : well_formed I.

Local Notation n := (size (variables I)).

(** The rows of IP3 and the bounds z, w^(t), w >= 0. *)
Definition bounded_matrix : 'M[R]_(size (rows I) + n, n) := col_mx (constraint_matrix I) 1%:M.

Definition right_side : 'cV[R]_(size (rows I) + n) :=
  col_mx (\col_i if tnth (in_tuple (rows I)) i is inr _ then 0 else 1) 0.

Theorem bounded_matrix_totally_unimodular : totally_unimodular bounded_matrix.
Proof.
apply: (tu_by_change (det_change_matrix well_formed_I) (change_matrix_rows well_formed_I)) => i.
rewrite /bounded_matrix mul_col_mx mul1mx; case: (split_ordP i) => i' ->.
  by have [a [b row_i]] := constraint_change_rows well_formed_I i'; exists a, b => j; rewrite col_mxEu row_i.
by have [a [b row_i]] := change_matrix_rows well_formed_I i'; exists a, b => j; rewrite col_mxEd row_i.
Qed.

(** Every vertex of the relaxation, whatever the right-hand sides, as long as they are integers. *)
Theorem relaxation_vertices_integral (f : 'I_n -> 'I_(size (rows I) + n)) (x : 'cV[R]_n) :
  \det (mxsub f id bounded_matrix) != 0 -> mxsub f id bounded_matrix *m x = mxsub f id right_side ->
  forall j, integer (x j 0).
Proof.
apply: vertex_integral bounded_matrix_totally_unimodular _ _ _ => i.
rewrite /right_side; case: (split_ordP i) => i' ->; rewrite ?col_mxEu ?col_mxEd mxE; last exact: (integer_nat R 0).
by case: (tnth _ _) => [r|r]; [exact: (integer_nat R 1) | exact: (integer_nat R 0)].
Qed.

End Programme.

Print Assumptions vertex_integral.
Print Assumptions bounded_matrix_totally_unimodular.
Print Assumptions relaxation_vertices_integral.
