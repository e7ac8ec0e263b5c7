; SPDX-License-Identifier: MIT OR Apache-2.0
; A program with much old data, which it keeps, and much young data, which it drops: what a generational collector is for.
(define (tree depth) (if (= depth 0) '() (cons (tree (- depth 1)) (tree (- depth 1)))))
(define (leaves tree) (if (null? tree) 1 (+ (leaves (car tree)) (leaves (cdr tree)))))
(define old (tree 20))
(define (young count sum) (if (= count 0) sum (young (- count 1) (+ sum (leaves (tree 14))))))
(display (+ (young 200 0) (leaves old)))
(newline)
