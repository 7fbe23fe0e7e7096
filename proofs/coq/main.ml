(* Reads certificates from standard input and answers each with "accepted" or "refused".

   All that is not proved about the extracted checker is here: reading numbers and nodes into the types of checker.v.
   Numbers are hexadecimal, words are separated by white space. Any number of certificates may follow each other:

     certificate = "pruning" data q(lambda) z(p) z(q) q(error) q(cost) q(objective) q(bound)
                 | "path" data count (z(p) z(q))* count q(breakpoint)* count q(error)* count q(cost)*
     data        = q(error unit) q(cost unit) count z(price)* count tree*          acquisitions are numbered from 1
     tree        = z(errors) z(split cost) 0|1(kept) z(piece) z(gain arc) z(split arc) z(up)
                   count (number z(flow))* count tree*                             what is below
     q           = z z, numerator and positive denominator *)

open Extracted

exception Malformed of string

let word () = Scanf.scanf " %s" (fun text -> if text = "" then raise End_of_file else text)

let bits_of_digit = function
  | '0' .. '9' as c -> Char.code c - Char.code '0'
  | 'a' .. 'f' as c -> Char.code c - Char.code 'a' + 10
  | c -> raise (Malformed (Printf.sprintf "digit %c" c))

(* The number with the bits of the digits; None is zero. *)
let positive_of digits =
  let push number bit =
    match number, bit with
    | None, false -> None
    | None, true -> Some XH
    | Some p, false -> Some (XO p)
    | Some p, true -> Some (XI p)
  in
  let push_digit number c =
    let value = bits_of_digit c in
    List.fold_left (fun n shift -> push n (value lsr shift land 1 = 1)) number [ 3; 2; 1; 0 ]
  in
  Seq.fold_left push_digit None (String.to_seq digits)

let z () =
  let text = word () in
  let negative = text.[0] = '-' in
  let digits = if negative then String.sub text 1 (String.length text - 1) else text in
  match positive_of digits with
  | None -> Z0
  | Some p -> if negative then Zneg p else Zpos p

let positive () = match z () with Zpos p -> p | _ -> raise (Malformed "a positive number was expected")
let count () = int_of_string ("0x" ^ word ())

let q () =
  let numerator = z () in
  let denominator = positive () in
  { qnum = numerator; qden = denominator }

let listed read =
  let rec more n read_so_far = if n = 0 then List.rev read_so_far else more (n - 1) (read () :: read_so_far) in
  more (count ()) []

let pair first second () =
  let one = first () in
  let two = second () in
  (one, two)

let node () =
  let errors = z () in
  let split_cost = z () in
  let kept = count () = 1 in
  let piece = z () in
  let gain_arc = z () in
  let split_arc = z () in
  let up = z () in
  let uses = listed (pair positive z) in
  { errors; split_cost; uses; kept; piece; gain_arc; split_arc; up }

(* Told what to do next with the forest that is read, so that the depth of trees is no depth of the stack. *)
let rec forest_then n next =
  if n = 0 then next Nil
  else
    let root = node () in
    forest_then (count ()) (fun below -> forest_then (n - 1) (fun beside -> next (Tree (root, below, beside))))

let forest n = forest_then n (fun trees -> trees)

let data () =
  let error_unit = q () in
  let cost_unit = q () in
  let number (next, numbered) price = (Pos.succ next, (next, price) :: numbered) in
  let prices = List.rev (snd (List.fold_left number (XH, []) (listed z))) in
  let trees = forest (count ()) in
  { trees; prices; error_unit; cost_unit }

let pruning_claims () =
  let lambda = q () in
  let lambda_p = z () in
  let lambda_q = z () in
  let stated_error = q () in
  let stated_cost = q () in
  let stated_objective = q () in
  let stated_bound = q () in
  { lambda; lambda_p; lambda_q; stated_error; stated_cost; stated_objective; stated_bound }

let path_claims () =
  let breakpoints = listed (pair z z) in
  let stated_breakpoints = listed q in
  let stated_errors = listed q in
  let stated_costs = listed q in
  { breakpoints; stated_breakpoints; stated_errors; stated_costs }

let answer kind =
  let stated = data () in
  match kind with
  | "pruning" -> run_pruning_file stated (pruning_claims ())
  | "path" -> run_path_file stated (path_claims ())
  | other -> raise (Malformed other)

let () =
  try
    while true do
      let kind = word () in
      print_endline (if answer kind then "accepted" else "refused")
    done
  with
  | End_of_file -> ()
  | Malformed what -> prerr_endline ("malformed: " ^ what); exit 2
