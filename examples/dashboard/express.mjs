import express from 'express';
import { dashboard, port } from './tock.mjs';

const app = express();
// The listener reads forms before this parser or after it.
app.use(express.urlencoded({ extended: false }));
app.use('/admin/tock', (request, response) => {
  void dashboard.listener(request, response);
});
app.get('/', (_request, response) => response.send('the app'));
app.listen(port, '127.0.0.1');
