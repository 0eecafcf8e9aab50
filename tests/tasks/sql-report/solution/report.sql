WITH kept AS (
    SELECT id, customer_id FROM orders WHERE NOT is_cancelled
), sold AS (
    SELECT customer_id, article, SUM(count * cents) AS cents FROM kept JOIN lines ON order_id = id GROUP BY customer_id, article
), ranked AS (
    SELECT customer_id, article, ROW_NUMBER() OVER (PARTITION BY customer_id ORDER BY cents DESC, article) AS place FROM sold
), income AS (
    SELECT customer_id, SUM(cents) AS cents FROM sold GROUP BY customer_id
), given_back AS (
    SELECT customer_id, SUM(cents) AS cents FROM kept JOIN refunds ON order_id = id GROUP BY customer_id
), counts AS (
    SELECT customer_id, COUNT(*) AS n FROM kept GROUP BY customer_id
)
SELECT name, COALESCE(n, 0) AS orders, COALESCE(income.cents, 0) - COALESCE(given_back.cents, 0) AS revenue, article AS best_article
FROM customers
LEFT JOIN counts ON counts.customer_id = customers.id
LEFT JOIN income ON income.customer_id = customers.id
LEFT JOIN given_back ON given_back.customer_id = customers.id
LEFT JOIN ranked ON ranked.customer_id = customers.id AND place = 1
ORDER BY revenue DESC, name
