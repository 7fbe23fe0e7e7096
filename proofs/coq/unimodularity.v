(** * The constraint matrix of IP3 / IP is totally unimodular

    Theorem 3.2 of the NIPS paper and Theorem 4.2 of the optimal-pruning paper, by another proof than the printed one
    (whose row partition does not satisfy Ghouila-Houri's condition).  In the variables x_h, which stand for 1 minus
    the sum of z over p(h), every row becomes a difference: at most one +1, at most one -1, zeros.  Such matrices have
    determinants 0, 1, -1, and the change of variables, itself a matrix of differences, carries this back to IP3. *)

Set Warnings "-notation-overridden,-ambiguous-paths".
From mathcomp Require Import all_ssreflect perm all_algebra.
From IpForest Require Import forest program.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Section Matrices.

Variable R : realFieldType.

(** Every square submatrix has determinant 0, 1 or -1. *)
Definition totally_unimodular m n (A : 'M[R]_(m, n)) : Prop :=
  forall k (f : 'I_k -> 'I_m) (g : 'I_k -> 'I_n), injective f -> injective g ->
  \det (mxsub f g A) \in [:: 0; 1; -1].

(** Each row is zero but for at most one +1 and at most one -1. *)
Definition difference_rows m n (A : 'M[R]_(m, n)) : Prop :=
  forall i, exists a b : option 'I_n, forall j, A i j = (a == Some j)%:R - (b == Some j)%:R.

Lemma difference_rows_sub m n m' n' (A : 'M[R]_(m, n)) (f : 'I_m' -> 'I_m) (g : 'I_n' -> 'I_n) :
  injective g -> difference_rows A -> difference_rows (mxsub f g A).
Proof.
move=> g_inj A_rows i; have [a [b A_i]] := A_rows (f i).
have pull (c : option 'I_n) : exists c' : option 'I_n', forall j, (c == Some (g j)) = (c' == Some j).
  exists [pick j | c == Some (g j)] => j; case: pickP => [j' /eqP->|/(_ j)->] //.
  by rewrite !(inj_eq (@Some_inj _)) (inj_eq g_inj).
have [[a' a'P] [b' b'P]] := (pull a, pull b).
by exists a', b' => j; rewrite mxE A_i a'P b'P.
Qed.

Lemma sign_values (v : R) k : v \in [:: 0; 1; -1] -> (-1) ^+ k * v \in [:: 0; 1; -1].
Proof.
rewrite -signr_odd; case: (odd k); rewrite ?expr0 ?expr1 ?mul1r // mulN1r !inE.
by case/or3P=> /eqP->; rewrite ?oppr0 ?opprK eqxx ?orbT.
Qed.

Lemma oppr_values (v : R) : v \in [:: 0; 1; -1] -> - v \in [:: 0; 1; -1].
Proof. by move=> /(sign_values 1); rewrite expr1 mulN1r. Qed.

(** The determinant along a row with a single entry. *)
Lemma det_single_row n (B : 'M[R]_n.+1) i j (v : R) :
  (forall j', B i j' = v *+ (j' == j)) -> \det B = v * cofactor B i j.
Proof.
move=> B_i; rewrite (expand_det_row B i) (bigD1 j) //= B_i eqxx big1 ?addr0 // => j' /negbTE j'_j.
by rewrite B_i j'_j mul0r.
Qed.

Theorem difference_rows_det n (B : 'M[R]_n) : difference_rows B -> \det B \in [:: 0; 1; -1].
Proof.
elim: n B => [|n IH] B B_rows; first by rewrite det_mx00 !inE eqxx orbT.
have minor i j : cofactor B i j \in [:: 0; 1; -1].
  apply: sign_values; rewrite IH //.
  have -> : row' i (col' j B) = mxsub (lift i) (lift j) B by apply/matrixP => ? ?; rewrite !mxE.
  by apply: difference_rows_sub B_rows; apply: lift_inj.
have sum_of (c : option 'I_n.+1) : \sum_j (c == Some j)%:R = (c != None)%:R :> R.
  case: c => [j|]; last by rewrite big1.
  by rewrite (bigD1 j) //= eqxx big1 ?addr0 // => j' /negbTE; rewrite (inj_eq (@Some_inj _)) eq_sym => ->.
have [/existsP[i unbalanced]|/existsPn balanced] := boolP [exists i, \sum_j B i j != 0].
  have [a [b B_i]] := B_rows i; move: unbalanced; under eq_bigr do rewrite B_i.
  rewrite sumrB !sum_of; case: a b B_i => [j|] [j'|] B_i; rewrite /= ?subrr ?eqxx // => _.
    rewrite (@det_single_row _ B i j 1) ?mul1r // => l.
    by rewrite B_i subr0 (inj_eq (@Some_inj _)) eq_sym; case: eqP.
  rewrite (@det_single_row _ B i j' (-1)) ?mulN1r ?oppr_values // => l.
  by rewrite B_i sub0r (inj_eq (@Some_inj _)) eq_sym; case: eqP; rewrite ?oppr0.
suff /eqP-> : \det B == 0 by rewrite inE eqxx.
rewrite -det_tr; apply/det0P; exists (const_mx 1).
  by apply/negP => /eqP/rowP/(_ ord0)/eqP; rewrite !mxE oner_eq0.
apply/rowP => i; rewrite !mxE; apply/eqP; have := balanced i; rewrite negbK; congr (_ == 0).
by apply: eq_bigr => j _; rewrite !mxE mul1r.
Qed.

Corollary difference_rows_tu m n (A : 'M[R]_(m, n)) : difference_rows A -> totally_unimodular A.
Proof. by move=> A_rows k f g _ g_inj; apply/difference_rows_det/difference_rows_sub. Qed.

(** Replace in the unit matrix, for each i, the row g i by the row f i of A: the determinant is the minor's. *)
Definition complete m n k (A : 'M[R]_(m, n)) (f : 'I_k -> 'I_m) (g : 'I_k -> 'I_n) : 'M[R]_n :=
  \matrix_(j, l) if [pick i | g i == j] is Some i then A (f i) l else (j == l)%:R.

Lemma complete_image m n k (A : 'M[R]_(m, n)) (f : 'I_k -> 'I_m) (g : 'I_k -> 'I_n) i l :
  injective g -> complete A f g (g i) l = A (f i) l.
Proof.
move=> g_inj; rewrite mxE; case: pickP => [i' /eqP/g_inj->//|/(_ i)].
by rewrite eqxx.
Qed.

Lemma det_complete m n k (A : 'M[R]_(m, n)) (f : 'I_k -> 'I_m) (g : 'I_k -> 'I_n) :
  injective g -> \det (complete A f g) = \det (mxsub f g A).
Proof.
elim: n A g => [|n IH] A g g_inj.
  case: k f g g_inj => [|k] f g g_inj; last by case: (g ord0).
  by rewrite !det_mx00.
have [g_onto|] := boolP [forall j, [exists i, g i == j]].
  have k_n : k = n.+1.
    have : #|codom g| = #|'I_n.+1|.
      by apply: eq_card => j; have /existsP[i /eqP<-] := forallP g_onto j; rewrite codom_f.
    by rewrite card_codom // !card_ord.
  subst k; pose s := perm g_inj.
  have -> : mxsub f g A = row_perm s (col_perm s (complete A f g)).
    by apply/matrixP => i i'; rewrite !mxE !permE -(complete_image A f i _ g_inj) mxE.
  rewrite row_permE col_permE !det_mulmx !det_perm odd_permV mulrCA -signr_addb addbb.
  by rewrite expr0 mulr1.
case/forallPn=> j /existsPn j_free.
have unlift_g i : {j' | g i = lift j j'}.
  by case: (@unlift_some _ j (g i)) => [|j' g_i _]; [rewrite eq_sym j_free | exists j'].
pose g' i := sval (unlift_g i); have g'E i : g i = lift j (g' i) := svalP (unlift_g i).
have g'_inj : injective g' by move=> i i' g'_ii'; apply: g_inj; rewrite !g'E g'_ii'.
have pick_g l : [pick i | g i == lift j l] = [pick i | g' i == l].
  by apply: eq_pick => i; rewrite g'E (inj_eq lift_inj).
have row_j l : complete A f g j l = 1 *+ (l == j).
  by rewrite mxE; case: pickP => [i|_]; [rewrite (negbTE (j_free i)) | rewrite eq_sym; case: eqP].
rewrite (det_single_row row_j) mul1r /cofactor addnn -signr_odd odd_double expr0 mul1r.
have -> : row' j (col' j (complete A f g)) = complete (col' j A) f g'.
  by apply/matrixP => l l'; rewrite !mxE pick_g; case: pickP => [i _|_]; rewrite ?mxE ?(inj_eq lift_inj).
rewrite IH //; congr (\det _); apply/matrixP => i i'.
by rewrite !mxE -g'E.
Qed.

(** If an invertible change of variables M turns A into a matrix of differences, and is one itself, then A is totally
    unimodular. *)
Theorem tu_by_change m n (A : 'M[R]_(m, n)) (M : 'M[R]_n) :
  \det M != 0 -> difference_rows M -> difference_rows (A *m M) -> totally_unimodular A.
Proof.
move=> M_regular M_rows AM_rows k f g _ g_inj; rewrite -det_complete //.
have completed_rows : difference_rows (complete A f g *m M).
  move=> j; case: (pickP (fun i => g i == j)) => [i /eqP<-|j_free].
    have [a [b AM_i]] := AM_rows (f i); exists a, b => l.
    by rewrite -AM_i !mxE; apply: eq_bigr => l' _; rewrite complete_image.
  have [a [b M_j]] := M_rows j; exists a, b => l; rewrite -M_j mxE (bigD1 j) //= big1 ?addr0 => [|l' l'_j].
    by rewrite mxE; case: pickP => [i|_]; rewrite ?j_free // eqxx mul1r.
  by rewrite mxE; case: pickP => [i|_]; rewrite ?j_free // eq_sym (negbTE l'_j) mul0r.
have := difference_rows_det completed_rows; rewrite det_mulmx.
have := difference_rows_det M_rows; rewrite !inE (negbTE M_regular) /= => /orP[]/eqP->; rewrite ?mulr1 //.
by rewrite mulrN1 oppr_eq0 eqr_oppLR eqr_opp orbCA orbC -orbA.
Qed.

End Matrices.

(** ** The matrix of the program *)

Definition variable := (nat + (nat * nat * nat) + (nat * nat))%type.
Local Notation Z h := (inl (inl h)).                   (* z_h *)
Local Notation Wtree t k i := (inl (inr (t, k, i))).   (* w^(t)_{k,i} *)
Local Notation W k i := (inr (k, i)).                  (* w_{k,i} *)

Definition row := (nat + (nat * nat * nat * nat) + (nat * nat * nat))%type.
Local Notation OneLeaf h := (inl (inl h)).                  (* for a leaf h *)
Local Notation Usage t k i u := (inl (inr (t, k, i, u))).   (* where u_{t,k,i} = u *)
Local Notation Shared t k i := (inr (t, k, i)).

Section Programme.

Variables (R : realFieldType) (I : instance R).

Local Notation F := (trees I).
Local Notation J := (asks I).
Local Notation K := (units I).
Local Notation N := (examples I).
Local Notation p := (path_to F).

Definition pairs : seq (nat * nat) := [seq (k, i) | k <- iota 0 K, i <- iota 0 N].
Definition triples : seq (nat * nat * nat) := [seq (t, ki.1, ki.2) | t <- iota 0 J, ki <- pairs].

Definition variables : seq variable :=
  [seq Z h | h <- nodes F] ++ [seq inl (inr tki) | tki <- triples] ++ [seq inr ki | ki <- pairs].

Definition usage_row (tki : nat * nat * nat) : option row :=
  let: (t, k, i) := tki in omap (fun u => Usage t k i u) (first_use I t k i).

Definition rows : seq row :=
  [seq OneLeaf h | h <- leaves F] ++ pmap usage_row triples ++ [seq inr tki | tki <- triples].

Definition coefficient (r : row) (v : variable) : R :=
  match r, v with
  | OneLeaf h, Z u => (u \in p h)%:R
  | Usage t k i u, Z h => (h \in p u)%:R
  | Usage t k i u, Wtree t' k' i' => ((t', k', i') == (t, k, i))%:R
  | Shared t k i, Wtree t' k' i' => ((t', k', i') == (t, k, i))%:R
  | Shared t k i, W k' i' => - ((k', i') == (k, i))%:R
  | _, _ => 0
  end.

Definition constraint_matrix : 'M[R]_(size rows, size variables) :=
  \matrix_(i, j) coefficient (tnth (in_tuple rows) i) (tnth (in_tuple variables) j).

Definition value (s : point R) (v : variable) : R :=
  match v with Z h => z s h | Wtree t k i => w_tree s t k i | W k i => w s k i end.

Definition values (s : point R) : 'cV[R]_(size variables) := \col_j value s (tnth (in_tuple variables) j).

Hypothesis well_formed_I : well_formed I.
Local Notation distinct := (distinct_nodes well_formed_I).

Lemma mem_pairs k i : ((k, i) \in pairs) = (k < K)%N && (i < N)%N.
Proof.
apply/allpairsP/andP => [[[k' i'] []]|[kK iN]]; last by exists (k, i); rewrite !mem_iota.
by rewrite !mem_iota => kK iN [-> ->].
Qed.

Lemma mem_triples t k i : ((t, k, i) \in triples) = [&& (t < J)%N, (k < K)%N & (i < N)%N].
Proof.
rewrite -mem_pairs; apply/allpairsP/andP => [[[t' [k' i']] /= [tT kiP [-> -> ->]]]|[tT kiP]].
  by rewrite mem_iota in tT.
by exists (t, (k, i)); rewrite mem_iota.
Qed.

Lemma pairs_uniq : uniq pairs.
Proof. by rewrite allpairs_uniq ?iota_uniq // => -[? ?] [? ?] _ _ []/= -> ->. Qed.

Lemma triples_uniq : uniq triples.
Proof. by rewrite allpairs_uniq ?iota_uniq ?pairs_uniq // => -[? [? ?]] [? [? ?]] _ _ []/= -> -> ->. Qed.

Lemma sum_variables (g : variable -> R) : \sum_(v <- variables) g v =
  \sum_(h <- nodes F) g (Z h) + (\sum_(tki <- triples) g (inl (inr tki)) + \sum_(ki <- pairs) g (inr ki)).
Proof. by rewrite !big_cat /= !big_map. Qed.

Definition row_in_range (r : row) : bool :=
  match r with
  | OneLeaf h => h \in leaves F
  | Usage t k i u => ((t, k, i) \in triples) && (first_use I t k i == Some u)
  | Shared t k i => (t, k, i) \in triples
  end.

Lemma mem_rows r : (r \in rows) = row_in_range r.
Proof.
rewrite !mem_cat mem_pmap; apply/or3P/idP => [[/mapP[h hL ->]|/mapP[[[t k] i] tkiP]|/mapP[[[t k] i] tkiP ->]]|] //.
  by rewrite /=; case use: first_use => [u|//] [->]; rewrite /= tkiP use eqxx.
case: r => [[h hL|[[[t k] i] u] /andP[tkiP /eqP use]]|[[t k] i] tkiP].
- exact/Or31/map_f.
- by apply/Or32/mapP; exists (t, k, i); rewrite //= use.
- exact/Or33/map_f.
Qed.

(** The left-hand side of a row. *)
Definition row_sum (g : variable -> R) (r : row) : R :=
  match r with
  | OneLeaf h => \sum_(u <- p h) g (Z u)
  | Usage t k i u => g (Wtree t k i) + \sum_(h <- p u) g (Z h)
  | Shared t k i => g (Wtree t k i) - g (W k i)
  end.

Lemma sum_path (g : nat -> R) h : h \in nodes F -> \sum_(u <- nodes F) (u \in p h)%:R * g u = \sum_(u <- p h) g u.
Proof.
move=> /(path_toP distinct)[/root_paths_subseq/(subseq_uniqP distinct) p_h _].
rewrite [in RHS]p_h big_filter [RHS]big_mkcond; apply: eq_bigr => u _.
by rewrite -[mem (p h) u]/(u \in p h); case: (u \in p h); rewrite ?mul1r ?mul0r.
Qed.

Lemma sum_single (A : eqType) (s : seq A) a (g : A -> R) :
  uniq s -> a \in s -> \sum_(b <- s) (b == a)%:R * g b = g a.
Proof.
move=> s_uniq a_s; rewrite (bigD1_seq a) //= eqxx mul1r big1 ?addr0 // => b /negbTE->.
by rewrite mul0r.
Qed.

Lemma row_sumE r (g : variable -> R) :
  r \in rows -> \sum_(v <- variables) coefficient r v * g v = row_sum g r.
Proof.
rewrite mem_rows sum_variables.
case: r => [[h|[[[t k] i] u]]|[[t k] i]] /=.
- move=> /leaves_sub_nodes h_node; rewrite sum_path // [X in _ + (X + _)]big1 ?[X in _ + (_ + X)]big1 ?addr0 //.
    by move=> [? ?] _; rewrite mul0r.
  by move=> [[? ?] ?] _; rewrite mul0r.
- case/andP=> tkiP /eqP use; have := tkiP; rewrite mem_triples => /and3P[tT kK iN].
  have := first_use_internal well_formed_I tT kK iN use; rewrite mem_filter => /andP[_ u_node].
  rewrite sum_path // [X in _ + (_ + X)]big1 ?addr0 => [|[? ?] _]; last by rewrite mul0r.
  rewrite addrC; congr (_ + _); rewrite -(sum_single (fun tki => g (inl (inr tki))) triples_uniq tkiP).
  by apply: eq_bigr => -[[? ?] ?].
move=> tkiP; have := tkiP; rewrite mem_triples => /and3P[tT kK iN].
have kiP : (k, i) \in pairs by rewrite mem_pairs kK.
rewrite big1 ?add0r => [|h _]; last by rewrite mul0r.
rewrite -(sum_single (fun tki => g (inl (inr tki))) triples_uniq tkiP).
rewrite -(sum_single (fun ki => g (inr ki)) pairs_uniq kiP) -sumrN; congr (_ + _).
  by apply: eq_bigr => -[[? ?] ?].
by apply: eq_bigr => -[? ?] _; rewrite mulNr.
Qed.

Lemma constraint_matrix_row s i :
  (constraint_matrix *m values s) i 0 = row_sum (value s) (tnth (in_tuple rows) i).
Proof.
rewrite -row_sumE ?mem_tnth // [RHS]big_tnth mxE; apply: eq_bigr => j _.
by rewrite !mxE.
Qed.

(** The rows are the constraints, with right-hand sides 1 and 0. *)
Theorem constraint_matrixP s : constraints I s <->
  forall i, if tnth (in_tuple rows) i is Shared _ _ _ then (constraint_matrix *m values s) i 0 <= 0
            else (constraint_matrix *m values s) i 0 = 1.
Proof.
pose holds r := if r is Shared _ _ _ then row_sum (value s) r <= 0 else row_sum (value s) r = 1.
transitivity (forall r, r \in rows -> holds r).
  split=> [[one_leaf usage shared] r|all_rows].
    rewrite mem_rows; case: r => [[h /one_leaf//|[[[t k] i] u]]|[[t k] i]] /=.
      by rewrite mem_triples => /andP[/and3P[tT kK iN] /eqP]; apply: usage.
    by rewrite mem_triples subr_le0 => /and3P[]; apply: shared.
  split=> [h h_leaf|t k i u tT kK iN use|t k i tT kK iN].
  - by have := all_rows (OneLeaf h); rewrite mem_rows; apply.
  - by have := all_rows (Usage t k i u); rewrite mem_rows /= mem_triples tT kK iN use eqxx; apply.
  - by have := all_rows (Shared t k i); rewrite mem_rows /= mem_triples tT kK iN subr_le0; apply.
split=> [all_rows i|all_rows r /seq_tnthP[i ->]].
  by have := all_rows _ (mem_tnth i (in_tuple rows)); rewrite /holds -constraint_matrix_row.
by have := all_rows i; rewrite /holds -constraint_matrix_row.
Qed.

(** The change of variables: z_h = x_parent - x_h (without x_parent at a root), the others stay. *)
Definition plus (v : variable) : option variable :=
  if v is Z h then (if rev (p h) is _ :: a :: _ then Some (Z a) else None) else Some v.
Definition minus (v : variable) : option variable := if v is Z h then Some (Z h) else None.
Definition change (v v' : variable) : R := (plus v == Some v')%:R - (minus v == Some v')%:R.

Definition change_matrix : 'M[R]_(size variables) :=
  \matrix_(i, j) change (tnth (in_tuple variables) i) (tnth (in_tuple variables) j).

Lemma variables_uniq : uniq variables.
Proof.
rewrite !cat_uniq !map_inj_uniq ?distinct ?triples_uniq ?pairs_uniq => [|? ? []|? ? []|? ? []] //=.
rewrite andbT; apply/andP; split; apply/hasPn => v; last by case/mapP=> ki _ ->; apply/mapP => -[].
by rewrite mem_cat => /orP[]/mapP[? _ ->]; apply/mapP => -[].
Qed.

Lemma difference_of (c d : option variable) : exists a b : option 'I_(size variables), forall j,
  (c == Some (tnth (in_tuple variables) j))%:R - (d == Some (tnth (in_tuple variables) j))%:R
  = (a == Some j)%:R - (b == Some j)%:R :> R.
Proof.
have find (e : option variable) :
    exists a : option 'I_(size variables), forall j, (e == Some (tnth (in_tuple variables) j)) = (a == Some j).
  have tnth_inj : injective (tnth (in_tuple variables)) by apply/tuple_uniqP/variables_uniq.
  exists [pick j | e == Some (tnth (in_tuple variables) j)] => j.
  case: pickP => [j' /eqP->|/(_ j)->] //.
  by rewrite !(inj_eq (@Some_inj _)) (inj_eq tnth_inj).
have [[a aP] [b bP]] := (find c, find d).
by exists a, b => j; rewrite aP bP.
Qed.

Lemma plus_path q h : rcons q h \in root_paths F ->
  plus (Z h) = if q is [::] then None else Some (Z (last 0%N q)).
Proof.
move=> /(path_to_prefix distinct); rewrite /plus => ->; rewrite rev_rcons.
by case/lastP: q => [|q a] //; rewrite rev_rcons last_rcons; case: q.
Qed.

(** Down a path the changes telescope. *)
Lemma sum_change q v : q \in root_paths F ->
  \sum_(u <- q) change (Z u) v = - (Some (Z (last 0%N q)) == Some v)%:R.
Proof.
elim/last_ind: q => [|q h IH] qP; first by case/negP: (nil_notin_root_paths F).
rewrite -cats1 big_cat big_seq1 /= cats1 last_rcons /change (plus_path qP) /=.
case: (root_paths_rcons qP) IH => [->|qP' /(_ qP')->]; first by rewrite big_nil add0r sub0r.
case: q qP qP' => [|a q] _ qP'; first by case/negP: (nil_notin_root_paths F).
by rewrite addrA addNr add0r.
Qed.

Lemma change_matrix_rows : difference_rows change_matrix.
Proof.
move=> i; have [a [b abP]] := difference_of (plus (tnth (in_tuple variables) i)) (minus (tnth (in_tuple variables) i)).
by exists a, b => j; rewrite -abP mxE.
Qed.

Lemma constraint_change_rows : difference_rows (constraint_matrix *m change_matrix).
Proof.
move=> i; set r := tnth (in_tuple rows) i.
have entry j : (constraint_matrix *m change_matrix) i j = row_sum (change^~ (tnth (in_tuple variables) j)) r.
  rewrite -row_sumE ?mem_tnth // [RHS]big_tnth mxE; apply: eq_bigr => l _.
  by rewrite !mxE.
have : r \in rows by apply: mem_tnth.
have ends h v : h \in nodes F -> \sum_(u <- p h) change (Z u) v = - (Some (Z h) == Some v)%:R.
  by case/(path_toP distinct)=> hP h_last; rewrite sum_change // h_last.
rewrite mem_rows; case: r entry => [[h|[[[t k] i'] u]]|[[t k] i']] entry /=.
- move=> /leaves_sub_nodes h_node; have [a [b abP]] := difference_of None (Some (Z h)).
  by exists a, b => j; rewrite -abP entry /= ends // sub0r.
- case/andP=> tkiP /eqP use; have := tkiP; rewrite mem_triples => /and3P[tT kK iN].
  have := first_use_internal well_formed_I tT kK iN use; rewrite mem_filter => /andP[_ u_node].
  have [a [b abP]] := difference_of (Some (Wtree t k i')) (Some (Z u)).
  by exists a, b => j; rewrite -abP entry /= ends // /change /= subr0.
move=> _; have [a [b abP]] := difference_of (Some (Wtree t k i')) (Some (W k i')).
by exists a, b => j; rewrite -abP entry /= /change /= !subr0.
Qed.

Lemma det_change_matrix : \det change_matrix != 0.
Proof.
rewrite -det_tr; apply/negP => /det0P[x x_nonzero x_kernel].
pose y (v : variable) : R := if [pick j | tnth (in_tuple variables) j == v] is Some j then x 0 j else 0.
have tnth_inj : injective (tnth (in_tuple variables)) by apply/tuple_uniqP/variables_uniq.
have yE j : y (tnth (in_tuple variables) j) = x 0 j.
  by rewrite /y; case: pickP => [j' /eqP/tnth_inj->//|/(_ j)]; rewrite eqxx.
pose at_ (c : option variable) := if c is Some v then y v else 0.
have sum_at (c : option variable) : \sum_(v <- variables) y v * (c == Some v)%:R = at_ c.
  case: c => [v|]; last by rewrite big1 // => v _; rewrite mulr0.
  have [vP|vN] := boolP (v \in variables).
    rewrite /at_ -(sum_single y variables_uniq vP); apply: eq_bigr => v' _.
    by rewrite mulrC (inj_eq (@Some_inj _)) eq_sym.
  rewrite big_seq big1 => [|v' v'P]; last first.
    by rewrite (inj_eq (@Some_inj _)) eq_sym (negbTE (memPn vN _ v'P)) mulr0.
  by rewrite /at_ /y; case: pickP => // j /eqP v_j; rewrite -v_j mem_tnth in vN.
have kernel v : v \in variables -> at_ (plus v) = at_ (minus v).
  move=> /seq_tnthP[i ->]; apply/eqP; rewrite -subr_eq0 -!sum_at -sumrB; apply/eqP.
  have /rowP/(_ i) := x_kernel; rewrite !mxE => x_i; rewrite -[RHS]x_i big_tnth; apply: eq_bigr => j _.
  by rewrite !mxE yE -mulrBr.
have zero_path q : q \in root_paths F -> y (Z (last 0%N q)) = 0.
  elim/last_ind: q => [|q h IH] qP; first by case/negP: (nil_notin_root_paths F).
  have h_node : h \in nodes F by apply: mem_root_paths qP _; rewrite mem_rcons mem_head.
  rewrite last_rcons -[LHS]/(at_ (minus (Z h))) -kernel ?mem_cat ?map_f //; rewrite (plus_path qP).
  by case: (root_paths_rcons qP) => [->//|qP']; case: q {qP h_node} IH qP' => // a q IH /IH.
case/negP: x_nonzero; apply/eqP/rowP => j; rewrite !mxE -yE.
have := mem_tnth j (in_tuple variables); case: (tnth _ j) => [[h|tki]|ki] vP.
- move: vP; rewrite mem_cat mem_map => [|? ? [] //]; case/orP=> [/(path_toP distinct)[hP <-]|].
    exact: zero_path.
  by rewrite mem_cat => /orP[]/mapP[].
- exact: (kernel _ vP).
- exact: (kernel _ vP).
Qed.

(** ** Theorem 3.2 / 4.2 *)

Theorem constraint_matrix_totally_unimodular : totally_unimodular constraint_matrix.
Proof. exact: tu_by_change det_change_matrix change_matrix_rows constraint_change_rows. Qed.

End Programme.

Print Assumptions difference_rows_det.
Print Assumptions tu_by_change.
Print Assumptions constraint_matrixP.
Print Assumptions constraint_matrix_totally_unimodular.
