(** * Forests of finite rooted trees

    A tree is a numbered node with a list of children, of any length.  A node without children is a leaf,
    and a tree may be a single leaf.  Node numbers are shared by the whole forest (as in Figure 1 of both
    papers, 1-5 and 6-12), so a number names one node once [uniq (nodes F)] is assumed. *)

Set Warnings "-notation-overridden".
From mathcomp Require Import all_ssreflect.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Inductive tree := Node of nat & seq tree.
Definition forest := seq tree.

Definition root t := let: Node h _ := t in h.

Fixpoint tree_nodes t :=
  let: Node h children := t in h :: flatten [seq tree_nodes c | c <- children].

Fixpoint tree_leaves t :=
  let: Node h children := t in
  if children is [::] then [:: h] else flatten [seq tree_leaves c | c <- children].

(** All paths that start at the root and go down to some node, as lists of nodes. *)
Fixpoint tree_paths t :=
  let: Node h children := t in
  [:: h] :: [seq h :: q | q <- flatten [seq tree_paths c | c <- children]].

(** All pairs (parent, child). *)
Fixpoint tree_edges t :=
  let: Node h children := t in
  [seq (h, root c) | c <- children] ++ flatten [seq tree_edges c | c <- children].

Definition roots (F : forest) := [seq root t | t <- F].
Definition nodes (F : forest) := flatten [seq tree_nodes t | t <- F].
Definition leaves (F : forest) := flatten [seq tree_leaves t | t <- F].
Definition root_paths (F : forest) := flatten [seq tree_paths t | t <- F].
Definition edges (F : forest) := flatten [seq tree_edges t | t <- F].

Definition internal_nodes F := [seq h <- nodes F | h \notin leaves F].
Definition children F h := [seq e.2 | e <- edges F & e.1 == h].

(** [path_to F h] is the papers' p(h): the nodes from the root to h, h included, in this order. *)
Definition path_to (F : forest) (h : nat) : seq nat :=
  head [::] [seq q <- root_paths F | last 0 q == h].

(** d_h, the number of splits above h. *)
Definition depth (F : forest) (h : nat) := (size (path_to F h)).-1.

(** The two trees of Figure 1, and what the definitions say of them. *)
Definition figure1 : forest :=
  [:: Node 1 [:: Node 2 [::]; Node 3 [:: Node 4 [::]; Node 5 [::]]];
      Node 6 [:: Node 7 [:: Node 8 [::]; Node 9 [::]]; Node 10 [:: Node 11 [::]; Node 12 [::]]]].

Example figure1_leaves : leaves figure1 = [:: 2; 4; 5; 8; 9; 11; 12]. Proof. by []. Qed.
Example figure1_internal : internal_nodes figure1 = [:: 1; 3; 6; 7; 10]. Proof. by []. Qed.
Example figure1_children : [seq children figure1 h | h <- internal_nodes figure1]
  = [:: [:: 2; 3]; [:: 4; 5]; [:: 7; 10]; [:: 8; 9]; [:: 11; 12]]. Proof. by []. Qed.
Example figure1_path_to_4 : path_to figure1 4 = [:: 1; 3; 4]. Proof. by []. Qed.
Example figure1_path_to_11 : path_to figure1 11 = [:: 6; 10; 11]. Proof. by []. Qed.
Example figure1_depth_11 : depth figure1 11 = 2. Proof. by []. Qed.

(** ** Induction over trees and forests together *)

Section Induction.

Variables (P : tree -> Prop) (Q : forest -> Prop).
Hypothesis empty_forest : Q [::].
Hypothesis more_trees : forall t F, P t -> Q F -> Q (t :: F).
Hypothesis plant : forall h children, Q children -> P (Node h children).

Fixpoint tree_forest_ind t : P t :=
  let: Node h children := t in
  plant h ((fix all_of (F : forest) : Q F :=
              if F is c :: F' then more_trees (tree_forest_ind c) (all_of F') else empty_forest) children).

Lemma forest_ind F : Q F.
Proof. elim: F => [|t F]; [exact: empty_forest | exact/more_trees/tree_forest_ind]. Qed.

End Induction.

(** ** Paths *)

Lemma root_paths_cons t F : root_paths (t :: F) = tree_paths t ++ root_paths F.
Proof. by []. Qed.

Lemma nil_notin_root_paths F : [::] \notin root_paths F.
Proof.
elim/(@forest_ind (fun t => [::] \notin tree_paths t)): F => //= [t F tP FP|h children _].
  by rewrite root_paths_cons mem_cat negb_or tP.
by rewrite inE /=; apply/mapP => -[].
Qed.

Lemma last_root_paths F q h : q \in root_paths F -> last h q = last 0 q.
Proof. by case: q => // qP; have := nil_notin_root_paths F; rewrite qP. Qed.

(** The paths end at the nodes, one path a node. *)
Lemma ends_of_root_paths F : [seq last 0 q | q <- root_paths F] = nodes F.
Proof.
elim/(@forest_ind (fun t => [seq last 0 q | q <- tree_paths t] = tree_nodes t)): F => //= [t F tP FP|h F FP].
  by rewrite root_paths_cons map_cat tP FP.
congr cons; rewrite -/(nodes F) -FP -map_comp; apply/eq_in_map => q qP /=.
exact: last_root_paths qP.
Qed.

(** A path without its last node is a path again. *)
Lemma root_paths_rcons F q h : rcons q h \in root_paths F -> q = [::] \/ q \in root_paths F.
Proof.
elim/(@forest_ind (fun t => forall q h, rcons q h \in tree_paths t -> q = [::] \/ q \in tree_paths t)):
  F q h => //= [t F tP FP|g F FP] [|a q] h; do ?by left.
  by rewrite root_paths_cons !mem_cat => /orP[/tP|/FP] [|->] //; rewrite ?orbT; right.
rewrite rcons_cons inE => /orP[/eqP[_]|/mapP[q' qP [-> eq_q]]]; first by case: q.
right; rewrite inE; move: qP; rewrite -eq_q => /FP[->|qP]; first by rewrite eqxx.
by rewrite map_f ?orbT.
Qed.

(** Every path can be continued to a leaf. *)
Lemma root_paths_extend F q :
  q \in root_paths F -> exists2 r, q ++ r \in root_paths F & last 0 (q ++ r) \in leaves F.
Proof.
move: q; elim/(@forest_ind (fun t => forall q, q \in tree_paths t ->
    exists2 r, q ++ r \in tree_paths t & last 0 (q ++ r) \in tree_leaves t)): F => //= [t F tP FP|h F FP] q.
  rewrite root_paths_cons mem_cat => /orP[/tP|/FP] [r rP rL]; exists r;
  by rewrite ?root_paths_cons mem_cat (rP, rL) ?orbT.
have below q' : q' \in root_paths F -> exists2 r, h :: q' ++ r \in tree_paths (Node h F)
    & last 0 (h :: q' ++ r) \in tree_leaves (Node h F).
  move=> /FP[r rP rL]; exists r; first by rewrite /= inE map_f ?orbT.
  by rewrite /= (last_root_paths h rP); case: (F) rL.
rewrite inE => /orP[/eqP->|/mapP[q' qF ->]]; last exact: below.
have [F0|[q' /below[r rP rL]]] : F = [::] \/ exists q', q' \in root_paths F; last by exists (q' ++ r).
  by case: (F) => [|[g ?] ?]; [left | right; exists [:: g]; rewrite root_paths_cons mem_cat mem_head].
by exists [::]; rewrite F0 ?inE.
Qed.

(** Paths list their nodes in the order of [nodes]; so they visit no node twice. *)
Lemma root_paths_subseq F q : q \in root_paths F -> subseq q (nodes F).
Proof.
move: q; elim/(@forest_ind (fun t => forall q, q \in tree_paths t -> subseq q (tree_nodes t))): F
  => //= [t F tP FP|h F FP] q.
  rewrite root_paths_cons mem_cat => /orP[/tP|/FP] sub; apply: subseq_trans sub _.
    exact: prefix_subseq.
  exact: suffix_subseq.
rewrite inE => /orP[/eqP->|/mapP[q' /FP sub ->]]; first by rewrite eqxx sub0seq.
by rewrite eqxx.
Qed.

Lemma leaves_sub_nodes F : {subset leaves F <= nodes F}.
Proof.
elim/(@forest_ind (fun t => {subset tree_leaves t <= tree_nodes t})): F => //= [t F tP FP|h F FP] g.
  by rewrite !mem_cat => /orP[/tP|/FP]->; rewrite ?orbT.
case: F FP => [|t F] FP //= gP.
by rewrite inE FP ?orbT.
Qed.

(** ** p(h) when nodes are numbered apart *)

Section DistinctNodes.

Variable F : forest.
Hypothesis distinct_nodes : uniq (nodes F).

Lemma root_paths_inj q r : q \in root_paths F -> r \in root_paths F -> last 0 q = last 0 r -> q = r.
Proof.
move=> qP rP eq_last; move: distinct_nodes; rewrite -ends_of_root_paths => uniq_ends.
rewrite -(nth_index [::] qP) -(nth_index [::] rP); congr nth; apply/eqP.
rewrite -(nth_uniq 0 _ _ uniq_ends) ?size_map ?index_mem //.
by rewrite !(nth_map [::]) ?index_mem ?nth_index // eq_last.
Qed.

Lemma path_to_last q : q \in root_paths F -> path_to F (last 0 q) = q.
Proof.
move=> qP; rewrite /path_to; set s := filter _ _.
have : head [::] s \in s.
  have : q \in s by rewrite mem_filter eqxx.
  by case: s => // r s _; rewrite mem_head.
by rewrite mem_filter => /andP[/eqP eq_last rP]; apply: root_paths_inj.
Qed.

Lemma path_toP h : h \in nodes F -> path_to F h \in root_paths F /\ last 0 (path_to F h) = h.
Proof. by rewrite -ends_of_root_paths => /mapP[q qP ->]; rewrite path_to_last. Qed.

(** p(h) is p(parent) followed by h, or h alone. *)
Lemma path_toE h : h \in nodes F -> exists2 q, path_to F h = rcons q h & q = [::] \/ q \in root_paths F.
Proof.
move=> /path_toP[]; case/lastP: (path_to F h) => [|q g].
  by move=> nilP; case/negP: (nil_notin_root_paths F).
by rewrite last_rcons => qP <-; exists q => //; apply: root_paths_rcons qP.
Qed.

Lemma mem_root_paths q h : q \in root_paths F -> h \in q -> h \in nodes F.
Proof.
elim/last_ind: q h => // q g IH h qP; rewrite mem_rcons inE => /orP[/eqP->|hq].
  by rewrite -ends_of_root_paths; apply/mapP; exists (rcons q g); rewrite ?last_rcons.
by have [q0|qP'] := root_paths_rcons qP; [rewrite q0 in hq | apply: IH].
Qed.

Lemma path_to_prefix q h : rcons q h \in root_paths F -> path_to F h = rcons q h.
Proof. by move=> qP; rewrite -{1}(last_rcons 0 q h) path_to_last. Qed.

End DistinctNodes.

(** ** Parents and children *)

Lemma edges_cons t F : edges (t :: F) = tree_edges t ++ edges F.
Proof. by []. Qed.

Lemma tree_edges_node h F : tree_edges (Node h F) = [seq (h, root c) | c <- F] ++ edges F.
Proof. by []. Qed.

(** Every node is a root or the child of exactly one edge. *)
Lemma perm_nodes F : perm_eq (nodes F) (roots F ++ [seq e.2 | e <- edges F]).
Proof.
elim/(@forest_ind (fun t => perm_eq (tree_nodes t) (root t :: [seq e.2 | e <- tree_edges t]))): F
  => //= [t F tP FP|h F FP]; last first.
  by rewrite perm_cons map_cat -map_comp.
rewrite edges_cons map_cat (perm_trans (perm_cat tP FP)) //= perm_cons.
by rewrite perm_catCA.
Qed.

Lemma roots_path F r : r \in roots F -> [:: r] \in root_paths F.
Proof.
elim: F => // -[h children] F IH; rewrite inE => /orP[/eqP->|/IH rP]; first by rewrite /root_paths /= mem_head.
by rewrite root_paths_cons mem_cat rP orbT.
Qed.

Lemma edges_path F a c :
  (a, c) \in edges F -> exists2 q, q \in root_paths F & last 0 q = a /\ rcons q c \in root_paths F.
Proof.
elim/(@forest_ind (fun t => forall a c, (a, c) \in tree_edges t ->
    exists2 q, q \in tree_paths t & last 0 q = a /\ rcons q c \in tree_paths t)): F a c
  => //= [t F tP FP|h F FP] a c.
  rewrite edges_cons mem_cat => /orP[/tP|/FP] [q qP [qa qc]]; exists q;
  by rewrite ?root_paths_cons ?mem_cat ?qP ?qc ?orbT.
rewrite mem_cat => /orP[|/FP[q qP [<- qc]]]; last first.
  exists (h :: q); first by rewrite inE map_f ?orbT.
  by rewrite /= (last_root_paths h qP) inE map_f ?orbT.
have -> : [seq (h, root t) | t <- F] = [seq (h, r) | r <- roots F] by rewrite -map_comp.
case/mapP=> r rF [-> ->]; exists [:: h]; rewrite ?mem_head //.
by split; rewrite //= inE (map_f (cons h) (roots_path rF)) orbT.
Qed.

Lemma path_to_root F r : uniq (nodes F) -> r \in roots F -> path_to F r = [:: r].
Proof. by move=> uniqF /roots_path rP; apply: (@path_to_prefix F uniqF [::]). Qed.

Lemma path_to_child F a c :
  uniq (nodes F) -> (a, c) \in edges F -> a \in nodes F /\ path_to F c = rcons (path_to F a) c.
Proof.
move=> uniqF /edges_path[q qP [<- qc]]; rewrite (path_to_last uniqF qP); split; last exact: path_to_prefix.
by rewrite -ends_of_root_paths map_f.
Qed.

Lemma root_of_path F c : [:: c] \in root_paths F -> c \in roots F.
Proof.
elim: F => // -[h children] F IH; rewrite root_paths_cons mem_cat in_cons => /orP[|/IH c_F]; last first.
  by rewrite /roots /= in_cons c_F orbT.
rewrite /roots /= in_cons => /orP[/eqP[->]|/mapP[[|//] nil_in _]]; first by rewrite eqxx.
by case/negP: (nil_notin_root_paths children).
Qed.

Lemma edge_of_path F (q : seq nat) c : rcons q c \in root_paths F -> q != [::] -> (last 0 q, c) \in edges F.
Proof.
elim/(@forest_ind (fun t => forall (q : seq nat) c, rcons q c \in tree_paths t -> q != [::] -> (last 0 q, c) \in tree_edges t)):
  F q c => //= [t F tP FP|h F FP] q c.
  by rewrite root_paths_cons edges_cons !mem_cat => /orP[/tP|/FP] edge /edge->; rewrite ?orbT.
case: q => [//|a q]; rewrite rcons_cons inE => /orP[/eqP[_]|]; first by case: q.
case/mapP=> q' q'_F [-> eq_q] _; rewrite mem_cat; move: q'_F; rewrite -eq_q.
case: q {eq_q} => [/root_of_path c_root|b q /FP-> //]; last by rewrite orbT.
by apply/orP; left; rewrite (map_comp (pair h) root) map_f.
Qed.

Lemma edge_nodes F a c : (a, c) \in edges F -> a \in nodes F /\ c \in nodes F.
Proof.
case/edges_path=> q q_F [<- qc_F]; rewrite -!ends_of_root_paths map_f //; split=> //.
by apply/mapP; exists (rcons q c); rewrite ?last_rcons.
Qed.

Lemma edge_above_leaf F a c : uniq (nodes F) -> (a, c) \in edges F -> a \notin leaves F.
Proof.
elim/(@forest_ind (fun t => uniq (tree_nodes t) -> (a, c) \in tree_edges t -> a \notin tree_leaves t)): F
  => //= [t F tP FP|h F FP].
  have nodes_t : (a, c) \in tree_edges t -> a \in tree_nodes t.
    by have := @edge_nodes [:: t] a c; rewrite /edges /nodes /= !cats0 => /[apply] -[].
  rewrite /nodes /= cat_uniq edges_cons !mem_cat => /and3P[t_uniq /hasPn apart F_uniq].
  case/orP=> edge; rewrite negb_or ?(tP t_uniq edge) ?(FP F_uniq edge) ?andbT //=.
    by apply/negP=> /leaves_sub_nodes/apart/negP; apply; apply: nodes_t.
  apply/negP=> a_leaf; have [/apart/negP[]] := edge_nodes edge.
  by have := @leaves_sub_nodes [:: t] a; rewrite /leaves /nodes /= !cats0; apply.
case/andP=> h_F F_uniq; case: F FP h_F F_uniq => [//|t F] FP h_F F_uniq.
rewrite mem_cat (map_comp (pair h) root) => /orP[/mapP[r _ [-> _]]|]; last exact: FP.
by apply: contra h_F; apply: leaves_sub_nodes.
Qed.
