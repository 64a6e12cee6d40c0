s/req->last_log_term < ety_term ||/0 ||/
s/req->last_log_term == ety_term && req->last_log_idx < current_idx/0/
