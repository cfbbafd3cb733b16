-- The database itself calls the function each minute: Supabase, and wherever there are pg_cron and pg_net.
-- The secret is in Supabase's vault, not in the text of the job, which everybody can read who may read cron.job.
select vault.create_secret('the same as CRON_SECRET', 'cron_secret');

select cron.schedule('tock', '* * * * *', $$
  select net.http_post(
    url := 'https://app.example.com/api/tick',
    headers := jsonb_build_object('authorization', 'Bearer ' || (
      select decrypted_secret from vault.decrypted_secrets where name = 'cron_secret')),
    timeout_milliseconds := 60000
  )
$$);
